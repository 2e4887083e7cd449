"""What agents list beside what documents route to them."""

from __future__ import annotations

from registry.agent_configs.documents.content import Content, Deployment
from registry.agent_configs.reachability.served_types import describe_missing, types_not_served

HERE, OTHER = ("a:8000", True), ("b:8000", True)
AGENTS = {"one": Deployment("a:8000", insecure=True), "two": Deployment("b:8000", insecure=True)}


def test_each_type_is_compared_with_the_list_of_its_own_agent():
    content = Content(AGENTS, {"X": "one", "y": "two", "z": "two"})

    assert types_not_served(content, {HERE: frozenset("x"), OTHER: frozenset("y")}) == ["z"]
    assert types_not_served(content, {HERE: frozenset("yz"), OTHER: frozenset("xyz")}) == ["X"]


def test_agents_that_list_nothing_or_are_of_another_document_are_left_out():
    content = Content(AGENTS, {"x": "one", "elsewhere": ""})

    assert types_not_served(content, {}) == []
    assert types_not_served(content, {OTHER: frozenset("x")}) == []


def test_the_message_names_some_and_counts_the_rest():
    assert "task types a, b. Tasks" in describe_missing(["a", "b"])
    assert "9 and 2 more. Tasks" in describe_missing([str(number) for number in range(10)] + ["y", "z"])
