"""Applies that meet readers, each other and the writers of single overrides: real threads, real commits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from controlplane.scopes import Scope
from overrides.editing.apply import ApplyOptions, apply_statements
from overrides.effective.effective import effective_many
from overrides.models import Override, OverrideVersion, Revision
from overrides.resolution.addresses import Address, Statement
from tests.support.api_client import ACTOR, Api, make_project, token_for

pytestmark = pytest.mark.django_db(transaction=True)

WEC = "workflow_execution_config"
HERE = {"project": "flytesnacks", "domain": "development"}
SCOPES = [Scope("development", "flytesnacks", f"w{number}") for number in range(25)]
# A set that states every scope itself, one that states it once above them, and one with two layers.
ABOVE = Scope(project="flytesnacks")


@pytest.fixture(autouse=True)
def _project(transactional_db: None) -> None:
    make_project()


def alone(work: Callable[[], Any]) -> Any:
    """Run in a thread: it leaves no connection behind, or the test database could not be dropped."""
    try:
        return work()
    finally:
        connections.close_all()


def together(*works: Callable[[], Any]) -> list[Any]:
    """Run all at once, as nearly as threads can; return what each returns."""
    ready = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        ready.wait()
        return alone(work)

    with ThreadPoolExecutor(len(works)) as pool:
        return [work.result() for work in [pool.submit(run, work) for work in works]]


def say(scope: Scope, number: int) -> Statement:
    return Statement(Address(WEC, scope), {"max_parallelism": number})


def apply_set(number: int) -> None:
    """State the number at each scope, or once above all of them: pruning takes away the other way."""
    statements = [say(scope, number) for scope in (SCOPES if number % 2 else [ABOVE])]
    options = ApplyOptions("git", prune=True, wants_plan=False, asks=False)
    apply_statements(statements, options=options, actor=ACTOR)


def numbers_at(scopes: list[Scope]) -> set[int | None]:
    attribute_sets = (
        answer.types[0].resolved.attributes if answer.types else {} for answer in effective_many(scopes)
    )
    return {attributes.get("max_parallelism") for attributes in attribute_sets}


def test_readers_of_many_scopes_always_see_one_whole_set():
    apply_set(0)
    done = threading.Event()
    snapshots: list[set[int | None]] = []

    def read() -> None:
        while not done.is_set():
            snapshots.append(numbers_at(SCOPES))

    def write() -> None:
        try:
            for number in range(1, 30):
                apply_set(number)
        finally:
            done.set()

    together(write, read, read, read)

    assert all(len(numbers) == 1 for numbers in snapshots), next(
        snapshot for snapshot in snapshots if len(snapshot) > 1
    )
    assert None not in set().union(*snapshots)
    assert len(set().union(*snapshots)) > 3


def test_readers_over_http_always_see_one_whole_set():
    viewer, done = token_for("viewer"), threading.Event()
    apply_set(0)
    max_parallelisms: list[set[int]] = []

    def read() -> None:
        api = Api(viewer)
        expected = {
            "scopes": [{key: value for key, value in scope.segments.items() if value} for scope in SCOPES[:5]]
        }
        while not done.is_set():
            items = api.post("overrides/effective:batch", expected).json()["items"]
            max_parallelisms.append({item["items"][0]["attributes"]["max_parallelism"] for item in items})

    def write() -> None:
        try:
            for number in range(1, 20):
                apply_set(number)
        finally:
            done.set()

    together(write, read, read)

    assert all(len(numbers) == 1 for numbers in max_parallelisms)
    assert len(max_parallelisms) > 1


def bundle(*documents: Any, manager: str, **query: Any) -> Callable[[], int]:
    token = token_for("admin")
    path = f"overrides:apply?managed_by={manager}" + "".join(
        f"&{name}={value}" for name, value in query.items()
    )
    return lambda: Api(token).post(path, {"documents": list(documents)}).status_code


def document(spec: dict[str, Any], **scope: str) -> dict[str, Any]:
    return {"kind": "overrides", **scope, "spec": spec}


def test_applies_of_different_managers_at_once_lose_nothing():
    def documents_of(number: int) -> list[dict[str, Any]]:
        own = {"envs": {"values": [{"key": f"K{number}", "value": "v"}]}}
        shared = {"labels": {"values": {"team": "ml", f"l{number}": "v"}}}
        return [document({"workflowExecutionConfig": {**own, **shared}}, **HERE)]

    statuses = together(*(bundle(*documents_of(number), manager=f"m{number}") for number in range(10)))

    override = Override.objects.get()
    assert statuses == [200] * 10
    assert {item["key"] for item in override.attributes["envs"]["values"]} == {f"K{n}" for n in range(10)}
    assert override.attributes["labels"]["values"].keys() == {"team", *(f"l{n}" for n in range(10))}
    assert override.owners["/labels/values/team"] == sorted(f"m{n}" for n in range(10))
    assert override.version == 10


def test_of_managers_who_want_different_values_one_wins_and_the_others_are_told():
    works = [
        bundle(document({"executionQueueAttributes": {"tags": [f"t{n}"]}}), manager=f"m{n}") for n in range(8)
    ]

    statuses = together(*works)

    assert sorted(statuses) == [200] + [409] * 7
    winner = statuses.index(200)
    assert Override.objects.get().attributes == {"tags": [f"t{winner}"]}
    assert OverrideVersion.objects.count() == Revision.objects.count() == 1


NAMES = [f"m{number}" for number in range(5)]


def digest_of_pruning(manager: str) -> str:
    """What confirms that all of the manager's overrides are removed."""
    path = f"overrides:apply?managed_by={manager}&prune=true&dry_run=true"
    return str(Api(token_for("admin")).post(path, {"documents": []}).json()["confirm"])


def test_managers_who_prune_at_once_take_out_only_their_own():
    for number in range(6):
        bundle(document({"taskResources": {}}, **HERE, workflow=f"w{number}"), manager=f"m{number}")()

    statuses = together(
        *(bundle(manager=name, prune="true", confirm=digest_of_pruning(name)) for name in NAMES)
    )

    assert statuses == [200] * 5
    assert Override.objects.get().scope.workflow == "w5"


def test_one_confirmation_removes_once_however_often_it_comes_at_once():
    documents = [document({"taskResources": {}}, **HERE, workflow=f"w{number}") for number in range(5)]
    bundle(*documents, manager="m0")()
    confirmed = bundle(manager="m0", prune="true", confirm=digest_of_pruning("m0"))

    statuses = together(*[confirmed] * 5)

    assert statuses == [200] * 5
    assert (Override.objects.count(), Revision.objects.count()) == (0, 2)


def test_bundles_that_bring_the_same_projects_wait_for_each_other():
    """Without a lock the second would meet a taken name, or two would wait for each other for ever."""
    projects = [{"kind": "project", "id": f"new-{number}"} for number in range(5)]
    works = [
        bundle(
            *(projects if number % 2 else reversed(projects)),
            document(
                {"workflowExecutionConfig": {"labels": {"values": {f"l{number}": "v"}}}}, project="new-0"
            ),
            manager=f"m{number}",
        )
        for number in range(6)
    ]

    assert together(*works) == [200] * 6
    assert len(Override.objects.get().attributes["labels"]["values"]) == 6


def test_rails_and_writes_that_meet_never_both_hold():
    """Whoever comes second is refused, or does not apply: a rail never stands beside what breaks it."""
    token = token_for("admin")
    rail = {"name": "cap", "resource_type": WEC, "pointer": "/max_parallelism", "rule": {"maximum": 5}}
    for _ in range(5):
        together(
            lambda: Api(token).put("guard-rails/cap", rail),
            lambda: Api(token).put(f"overrides/{WEC}", {"attributes": {"max_parallelism": 9}}),
        )

        statuses = [Api(token).get(path).status_code for path in ("guard-rails/cap", f"overrides/{WEC}")]
        assert sorted(statuses) == [200, 404]
        Api(token).delete("guard-rails/cap", If_Match="*")
        Api(token).delete(f"overrides/{WEC}", If_Match="*")


def counting(token: str, path: str, field: str) -> Callable[[], int]:
    """Add one to a number by read, then write with the version that was read; return the attempts."""

    def work() -> int:
        api = Api(token)
        for attempt in range(1, 1000):
            read = api.get(path)
            body = read.json()
            body[field] = {"max_parallelism": body[field]["max_parallelism"] + 1}
            answer = api.put(path, {field: body[field]}, If_Match=read["ETag"])
            if answer.status_code == 200:
                return attempt
            assert answer.status_code == 412
        raise AssertionError("never got through")

    return work


def test_twenty_writers_of_one_override_with_if_match_lose_no_update():
    token, path = token_for("admin"), f"overrides/{WEC}"
    Api(token).put(path, {"attributes": {"max_parallelism": 0}})

    together(*[counting(token, path, "attributes")] * 20)

    override = Override.objects.get()
    assert (override.attributes, override.version) == ({"max_parallelism": 20}, 21)
    versions = OverrideVersion.objects.order_by("revision").values_list(
        "attributes__max_parallelism", flat=True
    )
    assert list(versions) == list(range(21))


def test_writers_of_one_document_with_if_match_lose_no_update():
    token, path = token_for("admin"), "overrides/document?project=flytesnacks"
    Api(token).put(path, {"spec": {"workflowExecutionConfig": {"maxParallelism": 0}}}, If_Match="*")

    def add_one() -> None:
        api = Api(token)
        while True:
            read = api.get(path)
            document = read.json()
            document["spec"]["workflowExecutionConfig"]["maxParallelism"] += 1
            if api.put(path, document, If_Match=read["ETag"]).status_code == 200:
                return

    together(*[add_one] * 8)

    assert Override.objects.get().attributes == {"max_parallelism": 8}


@pytest.mark.parametrize("header", [{"If_None_Match": "*"}, {}], ids=["must be new", "nothing said"])
def test_of_two_first_writers_one_creates_and_the_other_is_refused(header):
    token = token_for("admin")

    for workflow in ("a", "b", "c", "d"):
        path = f"overrides/{WEC}?project=flytesnacks&domain=development&workflow={workflow}"
        works = [
            lambda number=number, path=path: Api(token).put(
                path, {"attributes": {"max_parallelism": number}}, **header
            )
            for number in (1, 2)
        ]
        first, second = sorted(answer.status_code for answer in together(*works))
        assert first == 201
        assert second == (412 if header else 428)

    assert OverrideVersion.objects.count() == 4


def test_one_key_sent_twice_at_once_has_one_effect():
    token = token_for("admin")
    body = {"documents": [document({"taskResources": {}})]}

    answers = together(
        *[lambda: Api(token).post("overrides:apply", body, Idempotency_Key="one")] * 4  # type: ignore[list-item]
    )

    statuses = {answer.status_code for answer in answers}
    assert 200 in statuses
    assert statuses <= {200, 409}
    # A replayed response has the same members, in whatever order Postgres stores them.
    first, *others = [answer.json() for answer in answers if answer.status_code == 200]
    assert all(other == first for other in others)
    assert Revision.objects.count() == 1


def numbers() -> Iterator[int]:
    yield from Revision.objects.order_by("made_at").values_list("revision", flat=True)


def test_revisions_of_applies_that_meet_have_no_gaps_and_rise_with_time():
    works = [
        bundle(document({"taskResources": {}}, **HERE, workflow=f"w{n}"), manager=f"m{n}") for n in range(12)
    ]
    refused = bundle(document({"taskResources": {"x": 1}}), manager="bad")

    together(*works, refused, refused)

    assert list(numbers()) == list(range(1, 13))
