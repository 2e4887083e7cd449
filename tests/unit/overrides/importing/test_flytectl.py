"""flytectl's attribute files: all six kinds, and what is wrong with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.importing.flytectl import KINDS, read_file, read_files

HEAD = "domain: development\nproject: flytesnacks\n"
FILES = {
    "task_resource": "defaults:\n  cpu: '1'\n  memory: 150Mi\nlimits:\n  cpu: '2'\n",
    "cluster_resource": "attributes:\n  foo: bar\n  buzz: lightyear\n",
    "execution_queue": "tags:\n  - foo\n  - bar\n",
    "execution_cluster_label": "value: foo\n",
    "plugin_override": "overrides:\n  - task_type: python_task\n    plugin_id: [a]\n"
    "    missing_plugin_behavior: 1\n",
    "workflow_execution_config": "max_parallelism: 5\nsecurity_context:\n  run_as:\n"
    "    k8s_service_account: demo\ninterruptible:\n  value: false\n",
}


@pytest.mark.parametrize("name", FILES)
def test_the_kind_of_a_file_is_told_by_its_keys(name):
    statement = read_file(HEAD + FILES[name], name="a.yaml")

    assert statement.address.resource_type == name
    assert statement.address.scope == Scope("development", "flytesnacks")


def test_there_are_the_six_kinds_that_flytectl_has():
    assert set(KINDS.values()) == set(FILES)


def test_numbers_and_wrapped_values_are_turned_into_ours():
    plugin = read_file(HEAD + FILES["plugin_override"], name="a").attributes
    config = read_file(HEAD + FILES["workflow_execution_config"], name="a").attributes

    assert plugin["overrides"][0]["missing_plugin_behavior"] == "USE_DEFAULT"
    assert config["interruptible"] is False


@pytest.mark.parametrize(
    ("head", "scope"),
    [
        ("project: p\n", Scope(project="p")),
        ("project: p\ndomain: d\n", Scope("d", "p")),
        ("project: p\ndomain: d\nworkflow: a.b.c\n", Scope("d", "p", "a.b.c")),
        ("project: p\ndomain: d\nworkflow: ''\n", Scope("d", "p")),
    ],
)
def test_the_level_is_the_most_specific_that_is_named(head, scope):
    assert read_file(head + "value: x\n", name="a").address.scope == scope


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("value: x\n", 1, 1, "project is required"),
        ("project: p\nworkflow: w\nvalue: x\n", 0, 0, "also requires: domain"),
        (HEAD + "values: x\n", 3, 9, "Did you mean 'value'"),
        (HEAD + "tags: [a]\ntag: b\n", 4, 6, "Unknown field 'tag' in execution_queue"),
        (HEAD, 1, 1, "its kind is unclear"),
        (HEAD + "defaults:\n  cpu: lots\n", 4, 8, 'cpu cannot be "lots"'),
        (HEAD + "defaults: {cpu: '4'}\nlimits: {cpu: '2'}\n", 4, 15, "below its default"),
        (HEAD + "value: [\n", 4, 1, "Invalid YAML"),
        (HEAD + "value: x\nvalue: y\n", 4, 1, "is repeated"),
        ("- a\n", 1, 1, "must be an object"),
        (HEAD + "project: 5\n", 3, 1, "is repeated"),
        ("project: 5\nvalue: x\n", 1, 10, "must be a text"),
        (HEAD + "overrides: [{task_type: a, missing_plugin_behavior: 7}]\n", 3, 53, "must be a string"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_column(text, line, column, words):
    findings = read_files({"bad.yaml": text, "good.yaml": HEAD + FILES["execution_queue"]})

    assert len(findings.statements) == 1
    assert words in " ".join(problem.reason for problem in findings.problems)
    if line:
        assert (line, column) in [(problem.line, problem.column) for problem in findings.problems]


def test_the_kind_can_be_said_where_keys_do_not_tell():
    assert read_files({"a": HEAD}, kind="task-resource-attribute").statements[0].attributes == {}


_text = st.text("abcXYZ019-", min_size=1, max_size=6)
_attributes = st.one_of(
    st.fixed_dictionaries({"tags": st.lists(_text, max_size=3)}),
    st.fixed_dictionaries(
        {"attributes": st.dictionaries(_text, st.text("ab: #'\"-0", max_size=8), max_size=4)}
    ),
    st.fixed_dictionaries({"max_parallelism": st.integers(0, 99), "overwrite_cache": st.booleans()}),
)


@given(_attributes)
def test_what_is_written_as_a_file_reads_back_as_the_same_attributes(attributes):
    text = strict_yaml.dump({"project": "p", "domain": "d", **attributes})

    assert read_file(text, name="a").attributes == attributes
