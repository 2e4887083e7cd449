"""Workflow execution config: defaults of an execution, as in flyteidl's WorkflowExecutionConfig."""

from collections.abc import Mapping
from typing import Any

from overrides.resolution.merging import Attributes, MergeRule, Strategy
from overrides.resource_types.definition import ResourceType
from overrides.resource_types.schemas import (
    ENV_VAR_NAME,
    LABEL_NAME,
    LABEL_VALUE,
    choice,
    flag,
    free_object,
    list_of,
    map_of_text,
    named_item,
    object_of,
    text,
    whole,
)

_INT32_MAX = 2**31 - 1

_secret = object_of(
    "Reference to a secret, never its value.",
    group=text(),
    group_version=text(),
    key=text(),
    mount_requirement=choice("", "ANY", "ENV_VAR", "FILE"),
    env_var=text(),
)
_oauth2_client = object_of(client_id=text(), client_secret=_secret)
_security_context = object_of(
    "Identity of the task pods.",
    run_as=object_of(
        iam_role=text(),
        k8s_service_account=text(),
        oauth2_client=_oauth2_client,
        execution_identity=text(),
    ),
    secrets=list_of(_secret),
    tokens=list_of(
        object_of(
            name=text(),
            type=choice("", "CLIENT_CREDENTIALS"),
            client=_oauth2_client,
            idp_discovery_endpoint=text(),
            token_endpoint=text(),
        )
    ),
)
_execution_env = {
    **object_of(name=text(), type=text(), extant=free_object(""), spec=free_object(""), version=text()),
    # Flyte's oneof `environment`: one or the other.
    "not": {
        "required": ["extant", "spec"],
        "properties": {"extant": {"type": "object"}, "spec": {"type": "object"}},
    },
    "x-hint": "Set extant or spec, not both.",
}
_label_value = text(
    pattern=LABEL_VALUE,
    **{"x-hint": "Use at most 63 letters, digits, -, _ and ., with a letter or digit at both ends, or none."},
)
_env_var_name = text(
    "Name.", pattern=ENV_VAR_NAME, **{"x-hint": "Use letters, digits, -, _ and .; do not begin with a digit."}
)


def read_rfc_spellings(attributes: Attributes) -> Attributes:
    """Convert RFC 3749's spellings: label pairs directly under `labels`, and `coreIdentity` for `runAs`."""
    result: dict[str, Any] = dict(attributes)
    for name in ("labels", "annotations"):
        pairs = result.get(name)
        if isinstance(pairs, Mapping) and pairs and all(isinstance(name, str) for name in pairs.values()):
            result[name] = {"values": pairs}
    for name in ("securityContext", "security_context"):
        context = result.get(name)
        if isinstance(context, Mapping) and "coreIdentity" in context:
            result[name] = {
                "runAs" if name == "coreIdentity" else name: value for name, value in context.items()
            }
    return result


_RUN_AS = "/security_context/run_as"
_CLIENT = f"{_RUN_AS}/oauth2_client"
_HINTS = {
    "groups": [
        {"title": "Execution", "fields": ["/max_parallelism", "/interruptible", "/overwrite_cache"]},
        {"title": "Environment variables", "fields": ["/envs"]},
        {"title": "Labels and annotations", "fields": ["/labels", "/annotations"]},
        {"title": "Data", "fields": ["/raw_output_data_config"]},
        {
            "title": "Identity",
            "fields": [
                f"{_RUN_AS}/k8s_service_account",
                f"{_RUN_AS}/iam_role",
                f"{_RUN_AS}/execution_identity",
            ],
        },
        {"title": "OAuth2 client", "fields": [_CLIENT]},
        {"title": "Secrets and tokens", "fields": ["/security_context"]},
        {"title": "Execution environments", "fields": ["/execution_env_assignments"]},
    ],
    "labels": {
        "/envs/values": "Environment variables",
        "/labels/values": "Labels",
        "/annotations/values": "Annotations",
        "/raw_output_data_config/output_location_prefix": "Output location",
        f"{_RUN_AS}/k8s_service_account": "Kubernetes service account",
        f"{_RUN_AS}/iam_role": "IAM role",
        f"{_CLIENT}/client_id": "Client ID",
        f"{_CLIENT}/client_secret/group": "Secret group",
        f"{_CLIENT}/client_secret/group_version": "Secret version",
        f"{_CLIENT}/client_secret/key": "Secret key",
        f"{_CLIENT}/client_secret/mount_requirement": "Secret mount",
        f"{_CLIENT}/client_secret/env_var": "Secret variable",
        "/execution_env_assignments": "Assignments",
    },
}

WORKFLOW_EXECUTION_CONFIG = ResourceType(
    name="workflow_execution_config",
    number=6,
    title="Workflow execution config",
    meaning="Defaults of an execution: parallelism, identity, labels, environment variables, caching.",
    document_key="workflowExecutionConfig",
    rule=MergeRule(Strategy.MERGE, {("envs", "values"): "key"}),
    schema=object_of(
        max_parallelism=whole(
            "Maximum number of nodes that run at once; 0 means no limit.", minimum=0, maximum=_INT32_MAX
        ),
        security_context=_security_context,
        raw_output_data_config=object_of(output_location_prefix=text("Where offloaded data is stored.")),
        labels=object_of(
            values=map_of_text("Labels of the task pods.", names=LABEL_NAME, values=_label_value)
        ),
        annotations=object_of(values=map_of_text("Annotations of the task pods.", names=LABEL_NAME)),
        interruptible=flag("Whether tasks may run on preemptible machines."),
        overwrite_cache=flag("Recompute cached results and overwrite them."),
        envs=object_of(values=list_of(named_item("key", key=_env_var_name, value=text()), "Merged by key.")),
        execution_env_assignments=list_of(
            object_of(node_ids=list_of(text()), task_type=text(), execution_env=_execution_env)
        ),
    ),
    reader=read_rfc_spellings,
    hints=_HINTS,
    example={"max_parallelism": 25, "labels": {"values": {"team": "ml"}}, "interruptible": True},
)
