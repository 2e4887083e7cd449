"""What a caller may not read does not exist for the caller: every operation, every kind of caller."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from django.db import transaction
from django.test import Client, override_settings

from controlplane.access.models import Principal
from controlplane.scopes import Scope
from tests.api.access.visibility_table import TABLE, Ask
from tests.api.access.visibility_world import ABSENT, CONTESTED, KINDS, Reader, World, make_world
from tests.support.api_client import Api, make_project, token_for
from tests.support.openapi import operations

METHODS = {operation["operationId"]: method for method, operation in operations()}
POSTED_QUESTIONS = {"me_can_i", "overrides_effective_batch", "overrides_pod_preview", "agent_configs_admit"}
POSTED_QUESTIONS |= {"identity_providers_test", "trusted_issuers_test", "placements_explain"}
POSTED_QUESTIONS |= {"pools_explain", "sinks_preview", "notification_rules_preview"}
POSTED_QUESTIONS |= {"overrides_effective_stream", "overrides_effective_snapshot"}
POSTED_QUESTIONS |= {"jobs_preview_input", "jobs_render"}
POSTED_QUESTIONS |= {"plugin_config_validate", "plugin_specs_validate", "jobs_validate", "jobs_preview"}
PAGES = (
    "/sinks",
    *("/pools", "/pools/shared", "/pools:new"),
    *("/", "/overrides?project=zqscope", "/resource-types", "/search?q=zq", "/audit", "/events"),
    *("/agents", "/environments", "/fleet-guards", "/task-types", f"/task-types/{CONTESTED}"),
    *("/agent-configs", "/agent-configs/conflicts", "/agent-configs/planes"),
    *("/resources", "/resources:new", "/dead-letters?state=", "/alerts?state="),
    *(
        "/notification-channels",
        "/notification-channels:new",
        "/notification-rules",
        "/notification-rules:new",
    ),
    *("/tokens", "/role-bindings", "/join-tokens"),
)
# These differ from one request to the next, and tell nothing of what was asked for.
_OWN = re.compile(rb'"(request_id|instance)": ?"[^"]*"')
_HEADERS = ("x-request-id", "content-length", "ratelimit")


@pytest.fixture
def world(api: Api) -> World:
    return make_world(api)


def test_every_operation_says_how_it_is_asked_for_what_is_not_the_callers():
    assert METHODS.keys() - TABLE.keys() == set()
    assert TABLE.keys() - METHODS.keys() == set()


def test_no_answer_names_what_the_caller_may_not_read(world):
    """By day the administrator and every fourth of the others ask; for each operation other ones."""
    asked = [
        (operation, ask, reader)
        for number, (operation, asks) in enumerate(TABLE.items())
        for ask in asks
        for reader in (*world.readers[number % 4 : -1 : 4], world.readers[-1])
    ]

    assert leaks(world, asked) == []


@pytest.mark.nightly
def test_no_answer_to_any_reader_names_what_the_reader_may_not_read(world):
    asked = [
        (operation, ask, reader)
        for operation, asks in TABLE.items()
        for ask in asks
        for reader in world.readers
    ]

    assert leaks(world, asked) == []


def leaks(world: World, asked: Iterable[tuple[str, Ask, Reader]]) -> list[str]:
    return [
        f"{operation} {ask.path} to {reader.name}: {problem}"
        for operation, ask, reader in asked
        if kind_of(operation) in reader.asks
        for problem in problems(world, reader, METHODS[operation], ask)
    ]


def test_no_page_of_the_console_names_what_the_reader_may_not_read(world):
    hidden = []
    for reader in world.readers:
        if not reader.principal:
            continue
        browser = Client()
        browser.force_login(Principal.objects.get(name=reader.principal))
        for page in PAGES:
            text = browser.get(page).content.decode()
            hidden += [f"{page} to {reader.name}: {kind}" for kind in reader.hidden if kind in text]

    assert hidden == []


def test_an_anonymous_reader_sees_no_more_than_a_viewer(world):
    reader = Reader("anonymous", Api(), frozenset({"zqteama", "zqteamb", "zqaccess"}))
    with override_settings(ANONYMOUS_READ=True):
        table = [
            f"{operation} {ask.path}: {problem}"
            for operation, asks in TABLE.items()
            if METHODS[operation] == "GET"
            for ask in asks
            for problem in problems(world, reader, "GET", ask)
        ]

    assert table == []


def kind_of(operation: str) -> str:
    """Does the operation read or write? Some questions are too long for an address, and so are POST."""
    return "reads" if METHODS[operation] == "GET" or operation in POSTED_QUESTIONS else "writes"


def problems(world: World, reader: Reader, method: str, ask: Ask) -> Iterator[str]:
    """What is wrong with the answers about a thing that exists, and about one that does not."""
    there = send(reader, method, ask, world.present)
    if there.status_code >= 500:
        yield f"{there.status_code}"
    text = whole(there)
    for kind in KINDS:
        # What the caller wrote itself comes back in errors.
        written = kind in json.dumps([ask.path, ask.body]) or ask.kind == kind
        if kind in reader.hidden and not written and kind in text:
            yield f"{kind} is in the answer: {text[max(0, text.index(kind) - 150) :][:300]}"
    if reader.name == "administrator":
        yield from (
            f"{kind} is not in the answer: {there.content[:400]!r}" for kind in ask.shows if kind not in text
        )
    if ask.kind in reader.hidden and reader.has_roles:
        nothing = send(reader, method, ask, world.absent)
        names = [*world.present.values(), *world.absent.values()]
        if indifferent(there, names) != indifferent(nothing, names):
            yield f"differs from nothing: {there.content[:300]!r} | {nothing.content[:300]!r}"


def send(reader: Reader, method: str, ask: Ask, names: dict[str, str]) -> Any:
    """Ask, and keep nothing of what it did."""
    with transaction.atomic():
        body = ask.body if ask.body is None else json.loads(filled(json.dumps(ask.body), names))
        answer = reader.api(method, filled(ask.path, names), body, **dict(ask.headers))
        transaction.set_rollback(True)
    return answer


def filled(text: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text


def whole(answer: Any) -> str:
    """Headers and body."""
    return f"{dict(answer.headers)}\n{answer.content.decode(errors='replace')}"


def indifferent(answer: Any, names: Sequence[str]) -> tuple[int, dict[str, str], str]:
    """The answer without the names that were asked for."""
    headers = {k: v for k, v in answer.headers.items() if k.lower() not in _HEADERS}
    text = _OWN.sub(b"", answer.content).decode(errors="replace")
    values = sorted(names, key=len, reverse=True)
    return (
        answer.status_code,
        headers,
        re.sub("|".join(rf"\b{re.escape(value)}\b" for value in values), ABSENT, text),
    )


def test_a_revision_counts_the_changes_that_the_caller_may_read(api):
    for project in ("mine", "other"):
        make_project(project)
    spec = {"workflowExecutionConfig": {"maxParallelism": 4}}
    documents = [{"kind": "overrides", "project": project, "spec": spec} for project in ("mine", "other")]
    assert api.post("overrides:apply", {"documents": documents}).status_code == 200
    revision = api.get("overrides/revisions").json()["items"][0]["revision"]
    viewer = Api(token_for("viewer", scope=Scope(project="mine")))

    assert api.get(f"overrides/revisions/{revision}").json()["changes"] == 2
    assert viewer.get(f"overrides/revisions/{revision}").json()["changes"] == 1
    assert [revision["changes"] for revision in viewer.get("overrides/revisions").json()["items"]] == [1]


def test_rails_are_shown_where_they_hold_and_a_taken_name_says_no_more(api):
    for project in ("mine", "stranger"):
        make_project(project)
    rule = {"resource_type": "task_resource", "pointer": "/limits/cpu", "rule": {"maximum": "64"}}
    places: dict[str, dict[str, str]] = {
        "everywhere": {},
        "in-a-domain": {"domain": "production"},
        "mine": {"project": "mine"},
        "mine-below": {"project": "mine", "domain": "development"},
        "theirs": {"project": "stranger"},
    }
    for name, scope in places.items():
        assert api.put(f"guard-rails/{name}", {"name": name, "scope": scope, **rule}).status_code == 201
    owner = Api(token_for("admin", scope=Scope(project="mine")))

    assert [guard_rail["name"] for guard_rail in owner.get("guard-rails").json()["items"]] == [
        "everywhere",
        "in-a-domain",
        "mine",
        "mine-below",
    ]
    assert owner.get("guard-rails/theirs").status_code == 404
    assert owner.delete("guard-rails/theirs", If_Match='"v1"').status_code == 404
    body = {"name": "theirs", "scope": {"project": "mine"}, **rule}
    response = owner.put("guard-rails/theirs", body)
    assert (response.status_code, response.json()["code"]) == (409, "name_taken")
    assert "stranger" not in response.content.decode()
    assert owner.delete("guard-rails/everywhere", If_Match='"v1"').status_code == 403
