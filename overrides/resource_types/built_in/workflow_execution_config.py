"""Workflow execution config: defaults of an execution. Fields as flyteidl's WorkflowExecutionConfig."""

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
    "Names a secret; never its value.",
    group=text(),
    group_version=text(),
    key=text(),
    mount_requirement=choice("", "ANY", "ENV_VAR", "FILE"),
    env_var=text(),
)
_oauth2_client = object_of(client_id=text(), client_secret=_secret)
_security_context = object_of(
    "Whom the task pods act as.",
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
    **{"x-hint": "Letters and digits, with - _ and . between; 63 at most; may be empty."},
)
_env_var_name = text(
    "Name.", pattern=ENV_VAR_NAME, **{"x-hint": "Letters, digits, - _ and .; not a digit first."}
)


def as_the_rfc_spells_it(attributes: Attributes) -> Attributes:
    """RFC 3749 writes label pairs directly under `labels`, and `coreIdentity` for `runAs`."""
    read: dict[str, Any] = dict(attributes)
    for name in ("labels", "annotations"):
        pairs = read.get(name)
        if isinstance(pairs, Mapping) and pairs and all(isinstance(one, str) for one in pairs.values()):
            read[name] = {"values": pairs}
    for name in ("securityContext", "security_context"):
        context = read.get(name)
        if isinstance(context, Mapping) and "coreIdentity" in context:
            read[name] = {"runAs" if one == "coreIdentity" else one: it for one, it in context.items()}
    return read


WORKFLOW_EXECUTION_CONFIG = ResourceType(
    name="workflow_execution_config",
    number=6,
    title="Workflow execution config",
    meaning="Defaults of an execution: parallelism, identity, labels, environment variables, caching.",
    document_key="workflowExecutionConfig",
    rule=MergeRule(Strategy.MERGE, {("envs", "values"): "key"}),
    schema=object_of(
        max_parallelism=whole("Nodes that run at once; 0 means no limit.", minimum=0, maximum=_INT32_MAX),
        security_context=_security_context,
        raw_output_data_config=object_of(output_location_prefix=text("Where offloaded data goes.")),
        labels=object_of(values=map_of_text("Of the task pods.", names=LABEL_NAME, values=_label_value)),
        annotations=object_of(values=map_of_text("Of the task pods.", names=LABEL_NAME)),
        interruptible=flag("Whether tasks may run on machines that can be taken away."),
        overwrite_cache=flag("Compute anew what is cached, and overwrite it."),
        envs=object_of(values=list_of(named_item("key", key=_env_var_name, value=text()), "Merged by key.")),
        execution_env_assignments=list_of(
            object_of(node_ids=list_of(text()), task_type=text(), execution_env=_execution_env)
        ),
    ),
    reader=as_the_rfc_spells_it,
    example={"max_parallelism": 25, "labels": {"values": {"team": "ml"}}, "interruptible": True},
)
