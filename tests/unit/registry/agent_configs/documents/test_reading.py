"""Reading published documents: what is said, and everything that is wrong, at its place."""

from __future__ import annotations

import json
import re

import pytest

from controlplane.formats.go_durations import MINUTE, SECOND
from registry.agent_configs.documents.content import Deployment, Operation
from registry.agent_configs.documents.diagnostics import Code, Diagnostic, Severity
from registry.agent_configs.documents.limits import Limits
from registry.agent_configs.documents.reading import Reading, read_document, read_object
from tests.support.paths import ROOT

RFC_SAMPLE_1 = """\
apiVersion: v1
king: ConfigMap
name: flyteplugins-agentservice-config-xxx
data:
    plugins:
      agent-service:
        agents:
          custom-agent:
           endpoint: custom_agent_end_point_FQDN:8000
           insecure: true
        supportedTaskTypes:
        - custom_sensor
        - customtask
"""
RFC_SAMPLE_2 = """\
apiVersion: v1
king: ConfigMap
name: flyteplugins-agentservice-enabled-plugins-xxx
data:
    plugins:
      agent-service:
        supportedTaskTypes:
        - customsensor
        - customtask
    tasks:
      task-plugins:
        default-for-task-types:
          customtask: agent-service
          customsensor: agent-service
"""
CORRECTED_1 = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: flyteplugins-agentservice-config-xxx
data:
  agents.yaml: |
    plugins:
      agent-service:
        agents:
          custom-agent:
            endpoint: custom-agent.acme.svc.cluster.local:8000
            insecure: true
        supportedTaskTypes:
        - customsensor
        - customtask
"""
CORRECTED_2 = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: flyteplugins-agentservice-enabled-plugins-xxx
data:
  enabled.yaml: |
    plugins:
      agent-service:
        supportedTaskTypes:
        - customsensor
        - customtask
    tasks:
      task-plugins:
        default-for-task-types:
          customtask: agent-service
          customsensor: agent-service
"""

SECTION = "/plugins/agent-service"
TASK_PLUGINS = "/tasks/task-plugins"


def codes_by_path(reading: Reading) -> dict[str, str]:
    return {diagnostic.path: diagnostic.code.value for diagnostic in reading.diagnostics}


def of(section: str, kind: str = "agent-service") -> str:
    return f"plugins:\n  {kind}:\n    " + section.replace("\n", "\n    ")


def agent_with(settings: str) -> str:
    return of(f"agents: {{a: {{endpoint: 'a.acme:1', {settings}}}}}\nsupportedTaskTypes: [t]")


def test_the_first_sample_of_the_rfc_is_told_all_its_mistakes():
    reading = read_document(RFC_SAMPLE_1)

    assert reading.content is None
    assert reading.parsed
    places = {(error.code.value, error.line, error.path, error.hint) for error in reading.errors}
    assert ("InvalidEnvelope", 2, "/king", "Did you mean kind?") in places
    assert ("InvalidEnvelope", 3, "/name", "metadata: {name: ...}") in places
    endpoint = "/data/plugins/agent-service/agents/custom-agent/endpoint"
    assert ("InvalidEndpoint", 9, endpoint) in {place[:3] for place in places}
    assert [warning.code for warning in reading.warnings] == [Code.NESTED_DATA]


def test_the_second_sample_of_the_rfc_is_told_all_its_mistakes():
    reading = read_document(RFC_SAMPLE_2)

    assert reading.content is None
    assert {error.path for error in reading.errors} == {"", "/king", "/name"}


def test_the_samples_are_understood_once_they_are_corrected():
    first, second = read_document(CORRECTED_1), read_document(CORRECTED_2)

    assert (first.diagnostics, second.diagnostics) == ((), ())
    assert first.name == "flyteplugins-agentservice-config-xxx"
    assert first.content.agents == {
        "custom-agent": Deployment("custom-agent.acme.svc.cluster.local:8000", True)
    }
    assert first.content.routes == {"customsensor": "custom-agent", "customtask": "custom-agent"}
    assert second.content.routes == {"customsensor": "", "customtask": ""}
    assert second.content.defaults == {"customsensor", "customtask"}


def test_the_nested_form_is_accepted_with_a_warning():
    nested = RFC_SAMPLE_1.replace("king", "kind").replace("name: fly", "metadata:\n  name: fly")

    reading = read_document(nested.replace("custom_agent_end_point_FQDN", "agent.acme"))

    assert [diagnostic.code for diagnostic in reading.diagnostics] == [Code.NESTED_DATA]
    assert reading.content.routes == {"custom_sensor": "custom-agent", "customtask": "custom-agent"}


def test_everything_is_read_in_lists_and_in_objects_alike():
    listed = of(
        "agents:\n- one: {endpoint: 'a.acme:1', timeouts: [{CreateTask: 5s}]}\n"
        "- two: {endpoint: 'b.acme:1'}\nagentForTaskTypes:\n- MyTask: two\n- my.dotted: one\n"
        "supportedTaskTypes: [MyTask]"
    )
    mapped = of(
        "agents:\n  one: {endpoint: 'a.acme:1', timeouts: {CreateTask: 5s}}\n  two: {endpoint: 'b.acme:1'}\n"
        "agentForTaskTypes: {MyTask: two, my.dotted: one}"
    )

    content = read_document(listed).content

    assert content == read_document(mapped).content
    assert content.routes == {"MyTask": "two", "my.dotted": "one"}
    assert content.agents["one"].timeouts == {Operation.CREATE_TASK: 5 * SECOND}
    assert content.digest == read_document(mapped).content.digest


def test_connectors_have_words_of_their_own():
    text = of(
        "connectors: {c: {endpoint: 'c.acme:1', timeouts: {ListConnectors: 2s}}}\n"
        "connectorForTaskTypes: {t: c}\nsupportedTaskTypes: [t]",
        "connector-service",
    )
    mixed = text.replace("connectors:", "agents:").replace("ListConnectors", "ListAgents")

    assert read_document(text).content.agents["c"].timeouts == {Operation.LIST: 2 * SECOND}
    assert codes_by_path(read_document(mixed))["/plugins/connector-service/agents"] == "UnknownField"


def test_json_is_read_too():
    document = {
        "plugins": {"agent-service": {"agents": {"a": {"endpoint": "a.acme:1"}}, "supportedTaskTypes": ["t"]}}
    }

    assert read_document(json.dumps(document)).content == read_object(document).content
    assert read_object(document).content.routes == {"t": "a"}


@pytest.mark.parametrize(
    ("text", "path", "code"),
    [
        (of("defaultAgent: {}"), SECTION + "/defaultAgent", "ForbiddenField"),
        (of("webApi: {}"), SECTION + "/webApi", "ForbiddenField"),
        (of("resourceConstraints: {}"), SECTION + "/resourceConstraints", "ForbiddenField"),
        (of("pollInterval: 1s"), SECTION + "/pollInterval", "ForbiddenField"),
        (of("suportedTaskTypes: [t]"), SECTION + "/suportedTaskTypes", "UnknownField"),
        (
            "tasks: {task-plugins: {enabled-plugins: [x]}}",
            TASK_PLUGINS + "/enabled-plugins",
            "ForbiddenField",
        ),
        ("tasks: {backoff: {}}", "/tasks/backoff", "ForbiddenField"),
        ("storage: {}", "/storage", "ForbiddenField"),
        ("plugin: {}", "/plugin", "UnknownField"),
        ("plugins: {k8s: {}}", "/plugins/k8s", "ForbiddenField"),
        ("plugins: {agent-servcie: {}}", "/plugins/agent-servcie", "UnknownField"),
        (of("agents: {A: {endpoint: 'a.acme:1'}}"), SECTION + "/agents/A", "InvalidAgentId"),
        (of("agents: {a.b: {endpoint: 'a.acme:1'}}"), SECTION + "/agents/a.b", "InvalidAgentId"),
        (of("agents: {a-: {endpoint: 'a.acme:1'}}"), SECTION + "/agents/a-", "InvalidAgentId"),
        (of("agents: {a: null}"), SECTION + "/agents/a", "SchemaViolation"),
        (of("agents: {a: {}}"), SECTION + "/agents/a", "InvalidEndpoint"),
        (of("agents: {a: {endpoint: 8000}}"), SECTION + "/agents/a/endpoint", "SchemaViolation"),
        (of("agents: a"), SECTION + "/agents", "SchemaViolation"),
        (of("supportedTaskTypes: 't1,t2'"), SECTION + "/supportedTaskTypes", "SchemaViolation"),
        (of("supportedTaskTypes: [t, t]"), SECTION + "/supportedTaskTypes/1", "Duplicate"),
        (of("supportedTaskTypes: [spark]"), SECTION + "/supportedTaskTypes/0", "ReservedTaskType"),
        (of("supportedTaskTypes: [Spark]"), SECTION + "/supportedTaskTypes/0", "ReservedTaskType"),
        (of("supportedTaskTypes: ['a b']"), SECTION + "/supportedTaskTypes/0", "InvalidTaskType"),
        (of("supportedTaskTypes: [7]"), SECTION + "/supportedTaskTypes/0", "SchemaViolation"),
        (of(f"supportedTaskTypes: [{'a' * 129}]"), SECTION + "/supportedTaskTypes/0", "InvalidTaskType"),
        (of("agentForTaskTypes: [{t: a}, {t: b}]"), SECTION + "/agentForTaskTypes/1/t", "Duplicate"),
        (of("agentForTaskTypes: {t: B}"), SECTION + "/agentForTaskTypes/t", "InvalidAgentId"),
        (
            "tasks: {task-plugins: {default-for-task-types: {t: spark}}}",
            TASK_PLUGINS + "/default-for-task-types/t",
            "SchemaViolation",
        ),
        ("{}", "", "NothingPublished"),
        ("just text", "", "SchemaViolation"),
        ("", "", "InvalidYAML"),
        ("null", "", "InvalidYAML"),
    ],
)
def test_what_a_document_cannot_say(text, path, code):
    reading = read_document(text)

    assert (path, code) in {(error.path, error.code.value) for error in reading.errors}
    assert reading.content is None


@pytest.mark.parametrize(
    ("settings", "field", "code"),
    [
        ("insecure: 'yes'", "insecure", "SchemaViolation"),
        ("insecure: 'true'", "insecure", "SchemaViolation"),
        ("insecure: yes", "insecure", "SchemaViolation"),
        ("defaultTimeout: 5", "defaultTimeout", "InvalidDuration"),
        ("defaultTimeout: true", "defaultTimeout", "InvalidDuration"),
        ("defaultTimeout: 1d", "defaultTimeout", "InvalidDuration"),
        ("defaultTimeout: ''", "defaultTimeout", "InvalidDuration"),
        ("defaultTimeout: 0s", "defaultTimeout", "InvalidDuration"),
        ("defaultTimeout: -1s", "defaultTimeout", "InvalidDuration"),
        ("defaultTimeout: 5m1ns", "defaultTimeout", "InvalidDuration"),
        ("timeouts: {createTask: 5s}", "timeouts/createTask", "UnknownField"),
        ("timeouts: [{CreateTask: 5}]", "timeouts/0/CreateTask", "InvalidDuration"),
        ("timeouts: {ListConnectors: 5s}", "timeouts/ListConnectors", "UnknownField"),
        ("defaultServiceConfig: {}", "defaultServiceConfig", "SchemaViolation"),
        ("defaultServiceConfig: '[]'", "defaultServiceConfig", "InvalidServiceConfig"),
        ("defaultServiceConfig: '{'", "defaultServiceConfig", "InvalidServiceConfig"),
        ("defaultServiceConfig: '{\"a\": NaN}'", "defaultServiceConfig", "InvalidServiceConfig"),
        ("defaultservice: x", "defaultservice", "UnknownField"),
    ],
)
def test_what_an_agent_cannot_have(settings, field, code):
    reading = read_document(agent_with(settings))

    assert codes_by_path(reading) == {f"/plugins/agent-service/agents/a/{field}": code}


def test_a_number_for_a_duration_is_explained():
    (problem,) = read_document(agent_with("defaultTimeout: 5")).errors

    assert problem.hint == "Flyte reads a number as nanoseconds. Did you mean 5s?"
    assert (problem.line, problem.column) == (3, 56)


def test_the_longest_timeout_is_allowed():
    reading = read_document(agent_with("defaultTimeout: 5m"))

    assert reading.content.agents["a"].default_timeout == 5 * MINUTE


def test_several_agents_need_a_mapping():
    two = of("agents: {a: {endpoint: 'a.acme:1'}, b: {endpoint: 'b.acme:1'}}\nsupportedTaskTypes: [t, u]")

    reading = read_document(two + "\n    agentForTaskTypes: {u: b}")

    (problem,) = reading.errors
    assert (problem.code, problem.path) == (
        Code.AMBIGUOUS_ROUTING,
        "/plugins/agent-service/supportedTaskTypes/0",
    )


def test_an_agent_of_another_document_may_be_mapped():
    content = read_document(of("agentForTaskTypes: {t: elsewhere}")).content

    assert content.routes == {"t": "elsewhere"}
    assert content.agents == {}


def test_names_that_look_alike_are_a_warning():
    reading = read_document(
        of("agents: {a: {endpoint: 'a.acme:1'}}\nsupportedTaskTypes: [custom_sensor, customsensor]")
    )

    assert reading.content is not None
    (problem,) = reading.warnings
    assert (problem.code, problem.line) == (Code.NEAR_MISS, 4)
    assert "'custom_sensor' and 'customsensor'" in problem.message


def test_a_default_that_propeller_never_uses_is_a_warning():
    text = of("agents: {a: {endpoint: 'a.acme:1'}}\nsupportedTaskTypes: [MyTask]")

    reading = read_document(
        text + "\ntasks: {task-plugins: {default-for-task-types: {MyTask: agent-service}}}"
    )

    assert [diagnostic.code for diagnostic in reading.diagnostics] == [Code.UPPER_CASE_DEFAULT]
    assert reading.content.defaults == {"mytask"}


def test_both_sections_in_one_document_are_refused():
    text = "plugins: {agent-service: {supportedTaskTypes: [t]}, connector-service: {supportedTaskTypes: [u]}}"

    assert codes_by_path(read_document(text)) == {"/plugins": "SchemaViolation"}


def test_all_mistakes_are_told_at_once_in_the_order_of_the_text():
    text = of(
        "agents: {A: {endpoint: 'nope', insecure: 'yes', defaultTimeout: 5}}\n"
        "supportedTaskTypes: [spark, 'a b']"
    )

    reading = read_document(text + "\nother: 1")

    assert [error.code.value for error in reading.errors] == [
        "InvalidAgentId",
        "InvalidEndpoint",
        "SchemaViolation",
        "InvalidDuration",
        "ReservedTaskType",
        "InvalidTaskType",
        "ForbiddenField",
    ]
    assert all(error.line and error.column for error in reading.errors)
    assert [error.line for error in reading.errors] == sorted(error.line for error in reading.errors)


def config_map(**files: str) -> dict[str, object]:
    name = "flyteplugins-agentservice-x"
    data = {file.replace("_", "."): text for file, text in files.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {}}, "data": data}


def test_files_of_one_config_map_are_united():
    reading = read_object(
        config_map(
            a_yaml=of("agents: {a: {endpoint: 'a.acme:1'}}\nsupportedTaskTypes: [t]"),
            b_yml=of(
                "agents: {a: {endpoint: 'a.acme:1'}, b: {endpoint: 'b.acme:1'}}\n"
                "agentForTaskTypes: {u: b, t: a}"
            ),
        )
    )

    assert reading.diagnostics == ()
    assert reading.content.routes == {"t": "a", "u": "b"}


def test_files_of_one_config_map_that_differ_are_refused():
    reading = read_object(
        config_map(
            a_yaml=of("agents: {a: {endpoint: 'a.acme:1'}}\nagentForTaskTypes: {t: a}"),
            b_yml=of("agents: {a: {endpoint: 'a.acme:2'}}\nagentForTaskTypes: {t: b}"),
        )
    )

    assert [(error.code, error.file, error.line) for error in reading.errors] == [
        (Code.CONFLICTING_FILES, "b.yml", 3),
        (Code.CONFLICTING_FILES, "b.yml", 4),
    ]


def test_a_mistake_in_a_file_is_told_with_its_place_in_the_file():
    reading = read_object(config_map(a_yaml="plugins:\n  agent-service:\n    suported: []", b_yaml="{"))

    assert [(error.file, error.path, error.line, error.code.value) for error in reading.errors] == [
        ("a.yaml", "/plugins/agent-service/suported", 3, "UnknownField"),
        ("b.yaml", "", 2, "InvalidYAML"),
    ]
    assert not reading.parsed


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"kind": "Secret"}, "/kind"),
        ({"apiVersion": "v2"}, "/apiVersion"),
        ({"metadata": {"name": "other"}}, "/metadata/name"),
        ({"metadata": {"name": "flyteplugins-agentservice-"}}, "/metadata/name"),
        ({"metadata": {"name": "flyteplugins-agentservice-X"}}, "/metadata/name"),
        ({"metadata": {"name": "flyteplugins-agentservice-" + "x" * 250}}, "/metadata/name"),
        ({"metadata": {}}, "/metadata"),
        ({"data": {}}, "/data"),
        ({"data": {"README.md": "text"}}, "/data/README.md"),
        ({"binaryData": {}}, "/binaryData"),
    ],
)
def test_what_is_no_config_map_for_agents(change, path):
    reading = read_object(config_map(a_yaml=of("agents: {a: {endpoint: 'a.acme:1'}}")) | change)

    assert path in codes_by_path(reading)
    assert codes_by_path(reading)[path] == "InvalidEnvelope"
    assert reading.content is None


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x",
        "a: 1\na: 2",
        "[" * 100 + "]" * 100,
        "a: !!python/object:os.system {}",
        "<<: {a: 1}",
        "plugins: {}\n---\nplugins: {}",
        "a: \x07",
        "a: [",
    ],
)
def test_hostile_and_broken_texts_are_refused(text):
    reading = read_document(text)

    assert [error.code for error in reading.errors] == [Code.INVALID_YAML]
    assert not reading.parsed


def test_documents_have_a_size_and_a_number_of_things():
    small = Limits(document_bytes=200, agents=1, task_types=2)

    assert codes_by_path(read_document("# " + "\u00e9" * 120, small)) == {"": "TooLarge"}
    many = of(
        "agents: {a: {endpoint: 'a.b:1'}, b: {endpoint: 'a.b:1'}}\nagentForTaskTypes: {t: a, u: b, v: a}"
    )
    assert [error.code for error in read_document(many, small).errors] == [Code.TOO_LARGE, Code.TOO_LARGE]
    deep = agent_with("defaultServiceConfig: '" + '{"a":' * 3000 + "'")
    assert codes_by_path(read_document(deep)) == {
        "/plugins/agent-service/agents/a/defaultServiceConfig": "InvalidServiceConfig"
    }


def test_of_very_many_mistakes_the_first_are_told_and_the_others_counted():
    reading = read_document(of(f"supportedTaskTypes: [{'a b, ' * 500}t]"))

    assert (len(reading.errors), reading.omitted) == (100, 899)
    assert reading.content is None


def test_warnings_never_hide_an_error():
    names = ", ".join(f"a_{number}, a{number}" for number in range(200))
    text = of(f"agents: {{a: {{endpoint: 'a.acme:1'}}}}\nsupportedTaskTypes: [{names}]")

    warned = read_document(text)
    refused = read_document(text + "\nother: {}")

    assert (len(warned.warnings), warned.omitted, warned.content is None) == (100, 100, False)
    assert (len(refused.errors), refused.content) == (1, None)


@pytest.mark.parametrize(
    "text", [of(f"supportedTaskTypes: [{'t, ' * 10_001}]"), of(f"agents: [{'{}, ' * 10_001}]")]
)
def test_lists_of_an_absurd_length_are_not_even_read(text):
    assert [error.code for error in read_document(text).errors] == [Code.TOO_LARGE]


def test_a_config_map_of_very_many_files_is_refused():
    reading = read_object(config_map(**{f"f{number}_yaml": "{" for number in range(101)}))

    assert codes_by_path(reading) == {"/data": "TooLarge"}


def test_tls_can_be_required():
    reading = read_document(agent_with("insecure: true"), Limits(tls_required=True))

    assert codes_by_path(reading) == {"/plugins/agent-service/agents/a/insecure": "TLSRequired"}


@pytest.mark.parametrize("code", list(Code))
def test_every_code_leads_to_its_paragraph(code):
    page, _, anchor = Diagnostic(code, Severity.ERROR, "", "").doc_url.partition("#")

    headings = re.findall(r"^### (.+)$", (ROOT / page).read_text(), re.MULTILINE)
    assert anchor in {heading.lower() for heading in headings}
    assert len(headings) == len(Code)


def test_the_example_of_the_guide_is_valid():
    guide = (ROOT / "docs/guides/agent-configurations.md").read_text()

    reading = read_document(re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)[0])

    assert reading.diagnostics == ()
    assert reading.content.routes == {"acme_sensor": "acme-sensor"}


def test_a_message_quotes_nothing_and_truth_in_the_words_of_yaml():
    errors = read_document(of("agents: null\nsupportedTaskTypes: true")).errors

    assert [error.message for error in errors] == [
        "Expected a list, not null.",
        "Expected a list, not true.",
    ]


@pytest.mark.parametrize(("timeout", "valid"), [("5s", True), ("5001ms", False), ("5m", False)])
def test_listing_has_a_small_limit_of_its_own(timeout, valid):
    reading = read_document(agent_with(f"timeouts: {{ListAgents: {timeout}, CreateTask: 5m}}"))

    assert (reading.content is not None) is valid
    if not valid:
        assert codes_by_path(reading) == {
            "/plugins/agent-service/agents/a/timeouts/ListAgents": "InvalidDuration"
        }
        assert "at most 5s" in reading.errors[0].message
