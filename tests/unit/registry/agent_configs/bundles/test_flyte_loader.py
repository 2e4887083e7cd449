"""The port of Flyte's loader behaves as Flyte's does: every row of the table in the specification."""

from __future__ import annotations

import pytest

from tests.support.flyte_loader import DecodeError, LoadedDeployment, load

SECOND = 10**9


def of(body: str) -> str:
    return "plugins:\n  agent-service: " + body


def test_ids_in_an_object_become_small_and_so_do_operations():
    config = load(of("{agents: {Custom-Agent: {endpoint: 'a:1', timeouts: {CreateTask: 5s}}}}"))

    assert config.agents == {"custom-agent": LoadedDeployment("a:1", timeouts={"createtask": 5 * SECOND})}


def test_mappings_in_an_object_lose_their_capitals_and_are_dead():
    config = load(
        of("{agents: {Custom-Agent: {endpoint: 'a:1'}}, agentForTaskTypes: {MyTask: Custom-Agent}}")
    )

    assert config.agent_for_task_types == {"mytask": "Custom-Agent"}
    assert "Custom-Agent" not in config.agents


def test_mappings_in_a_list_keep_capitals_and_dots():
    config = load(of("{agentForTaskTypes: [{MyTask: custom-agent}, {my.dotted: custom-agent}]}"))

    assert config.agent_for_task_types == {"MyTask": "custom-agent", "my.dotted": "custom-agent"}


def test_timeouts_in_a_list_are_right():
    config = load(of("{agents: {a: {timeouts: [{CreateTask: 5s}, {GetTask: 6s}]}}}"))

    assert config.agents["a"].timeouts == {"CreateTask": 5 * SECOND, "GetTask": 6 * SECOND}


def test_a_number_is_nanoseconds():
    assert load(of("{agents: {a: {defaultTimeout: 5}}}")).agents["a"].default_timeout == 5


def test_an_empty_duration_is_none_at_all():
    assert load(of("{agents: {a: {defaultTimeout: ''}}}")).agents["a"].default_timeout == 0


@pytest.mark.parametrize(
    "body",
    [
        "{agentForTaskTypes: {my.dotted: x}}",
        "{agents: {a: {defaultTimeout: 1d}}}",
        "{agents: {a: {defaultTimeout: 5 seconds}}}",
        "{agents: {a: {insecure: 'yes'}}}",
        "{agents: {a: {defaultTimeout: true}}}",
        "{agents: [a]}",
    ],
)
def test_what_cannot_be_decoded_stops_propeller(body):
    with pytest.raises(DecodeError):
        load(of(body))


def test_of_two_lists_the_last_file_alone_counts():
    assert load(of("{supportedTaskTypes: [t1]}"), of("{supportedTaskTypes: [t2]}")).supported_task_types == [
        "t2"
    ]

    listed = load(of("{agentForTaskTypes: [{t1: a}]}"), of("{agentForTaskTypes: [{t2: b}]}"))
    assert listed.agent_for_task_types == {"t2": "b"}


def test_two_objects_are_merged():
    config = load(of("{agentForTaskTypes: {t1: a}}"), of("{agentForTaskTypes: {t2: b}}"))

    assert config.agent_for_task_types == {"t1": "a", "t2": "b"}


def test_one_id_in_two_files_makes_a_hybrid():
    first = of("{agents: {a: {endpoint: 'first:1', insecure: true}}}")

    config = load(first, of("{agents: {a: {endpoint: 'second:2'}}}"))

    assert config.agents == {"a": LoadedDeployment("second:2", insecure=True)}


def test_a_text_is_split_into_task_types():
    assert load(of("{supportedTaskTypes: 't1,t2'}")).supported_task_types == ["t1", "t2"]


def test_an_agent_that_is_null_vanishes():
    assert load(of("{agents: {a: null, b: {endpoint: 'b:1'}}}")).agents.keys() == {"b"}


def test_agents_may_stand_in_a_list():
    assert load(of("{agents: [{a: {endpoint: 'a:1'}}]}")).agents == {"a": LoadedDeployment("a:1")}


@pytest.mark.parametrize("text", ["'true'", "true", "yes", "y", "1"])
def test_some_texts_and_words_are_true(text):
    assert load(of(f"{{agents: {{a: {{insecure: {text}}}}}}}")).agents["a"].insecure is True


def test_a_misspelled_member_is_not_seen_by_anybody():
    config = load(of("{suportedTaskTypes: [t1]}"))

    assert config.supported_task_types == ["task_type_1", "task_type_2"]
    assert config.unknown == {"suportedtasktypes"}


@pytest.mark.parametrize("name", ["y", "no", "1.10", "0x1F", "1_000", "0_8", "-_5", "-0o17", ".5", "~"])
def test_names_without_quotes_are_not_what_they_seem(name):
    assert load(of(f"{{supportedTaskTypes: [{name}x, z]}}")).supported_task_types == [f"{name}x", "z"]
    try:
        read = load(of(f"{{supportedTaskTypes: [{name}, z]}}")).supported_task_types
    except DecodeError:
        return
    assert read != [name, "z"]
