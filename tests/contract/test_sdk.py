"""The generated Python client: whole, with names to read aloud, and it works against a running server."""

from __future__ import annotations

import asyncio
import importlib
import pickle
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.test import Client

from controlplane.access.models import Token
from overrides.models import Project
from tests.support.api_client import AGENT, Api, make_project, token_for
from tests.support.openapi import operations
from tests.support.paths import ROOT
from tests.support.signing_server import (
    SCOPE,
    TYPE,
    SigningServer,
    change_after_snapshot,
    public_pem,
    set_tier,
)

GUIDE = ROOT / "docs" / "guides" / "clients.md"
OPERATIONS = {operation["operationId"] for _, operation in operations()}
# Serial numbers and shapes that the generator had to name itself.
UNSPEAKABLE = re.compile(r"\d$|Type\d|Inline|AnyOf|AllOf|ItemItem")


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory):
    """The package, generated as `make sdk` does: with its layer; a warning is an error."""
    folder = tmp_path_factory.mktemp("sdk")
    stale = folder / "python" / "controlplane_client" / "portable" / "stale.py"
    stale.parent.mkdir(parents=True)
    stale.touch()
    subprocess.run(
        [sys.executable, str(ROOT / "sdk" / "generate.py"), "python", str(folder / "python")], check=True
    )
    assert not stale.exists()
    sys.path.insert(0, str(folder / "python"))
    yield importlib.import_module("controlplane_client")
    sys.path.remove(str(folder / "python"))


def call(operation: str, sdk: Any) -> Any:
    """The module of an operation, wherever its tag put it."""
    api = importlib.import_module("controlplane_client.api")
    for module in pkgutil.walk_packages(api.__path__, "controlplane_client.api."):
        if module.name.rpartition(".")[2] == operation:
            return importlib.import_module(module.name)
    raise AssertionError(f"{operation} was not generated")


def test_every_operation_has_a_function_of_its_name(sdk):
    for operation in OPERATIONS:
        assert callable(call(operation, sdk).sync_detailed)


def test_no_model_has_a_name_that_the_generator_made_up(sdk):
    models = importlib.import_module("controlplane_client.models")

    assert [name for name in models.__all__ if UNSPEAKABLE.search(name)] == []
    assert "EffectiveRead" in models.__all__


def test_it_writes_reads_and_reports_errors_of_a_running_server(sdk, live):
    make_project()
    with sdk.AuthenticatedClient(base_url=live.url, token=token_for("admin")) as client:
        body = {"attributes": {"max_parallelism": 7}}
        put = call("overrides_put", sdk).sync_detailed(
            "workflow_execution_config", client=client, body=body, project="flytesnacks"
        )
        effective = call("overrides_effective", sdk).sync(client=client, project="flytesnacks")
        missing = call("agents_get", sdk).sync_detailed("019a9f5e-7c00-7000-8000-000000000001", client=client)

    assert put.status_code == 201
    assert put.headers["ETag"] == '"v1"'
    leaf = effective.items[0].leaves[0]
    assert (leaf.pointer, leaf.value, leaf.source.scope.level) == ("/max_parallelism", 7, "project")
    assert (missing.status_code, missing.parsed.code) == (404, "unknown_agent")


def test_a_refusal_raises_and_a_plain_dict_is_a_body(sdk, live):
    """sync and asyncio alike; a model may hold plain dicts too."""
    session, models = layer(sdk), importlib.import_module("controlplane_client.models")
    make_project()
    client = session.connect(live.url, token_for("admin"))
    put, get = call("overrides_put", sdk), call("overrides_get", sdk)
    where = {"client": client, "project": "flytesnacks"}

    async def both() -> Any:
        model = models.OverrideWriteRequest(attributes={"max_parallelism": 8})
        done = await put.asyncio("workflow_execution_config", body=model, if_match='"v1"', **where)
        with pytest.raises(session.Problem) as refused:
            await put.asyncio("workflow_execution_config", body=model, if_match='"v1"', **where)
        return done, refused.value.status

    assert (
        put.sync("workflow_execution_config", body={"attributes": {"max_parallelism": 7}}, **where).version
        == 1
    )
    second, status = asyncio.run(both())

    assert (second.version, second.attributes.to_dict(), status) == (2, {"max_parallelism": 8}, 412)
    with pytest.raises(session.Problem) as refused:
        get.sync("task_resource", client=client, project="nope")
    assert (refused.value.status, refused.value.code) == (404, "unknown_project")


def test_a_plain_dict_is_a_bundle_where_text_would_do_too(sdk, live):
    make_project()
    document = {
        "kind": "overrides",
        "project": "flytesnacks",
        "spec": {"workflowExecutionConfig": {"maxParallelism": 4}},
    }
    with sdk.AuthenticatedClient(base_url=live.url, token=token_for("admin")) as client:
        plan = call("overrides_apply", sdk).sync(client=client, body={"documents": [document]}, dry_run=True)

    assert plan.summary.created == 1


def test_what_the_readme_shows_runs(sdk, live, capsys):
    readme = (Path(sdk.__file__).parents[1] / "README.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    make_project()
    Api(token_for("admin")).post("agents", AGENT)

    exec(block.replace("http://127.0.0.1:8000", live.url).replace("cp_pat_...", token_for("admin")), {})

    assert capsys.readouterr().out.splitlines()[-1] == "version 1"


def test_it_sends_yaml_as_text(sdk, live):
    make_project()
    text = "kind: overrides\nproject: flytesnacks\nspec: {workflowExecutionConfig: {maxParallelism: 4}}\n"
    with sdk.AuthenticatedClient(base_url=live.url, token=token_for("admin")) as client:
        plan = call("overrides_apply", sdk).sync(client=client, body=text, dry_run=True)

    assert plan.summary.created == 1
    assert Api(token_for("admin")).get("overrides").json()["items"] == []


def test_what_only_a_newer_server_knows_is_kept(sdk):
    models = importlib.import_module("controlplane_client.models")
    body = {"name": "eu", "kind": "robot", "is_active": True, "organisation": "default"}
    body |= {"id": "019a9f5e-7c00-7000-8000-000000000011", "created_at": "2026-11-21T09:30:00Z"}

    principal = models.PrincipalRead.from_dict(body)

    assert (principal.kind, principal.kind.name, str(principal.kind)) == ("robot", "UNKNOWN", "robot")
    assert principal.to_dict()["kind"] == "robot"
    assert principal.kind == pickle.loads(pickle.dumps(principal.kind))
    assert {principal.kind: 1}["robot"] == 1
    assert models.PrincipalKind("person") is models.PrincipalKind.PERSON
    assert "robot" not in list(models.PrincipalKind)
    with pytest.raises(ValueError, match="7"):
        models.PrincipalKind(7)


def test_no_list_of_values_of_an_answer_is_closed(sdk):
    models = importlib.import_module("controlplane_client.models")
    lists = [enumeration for name in models.__all__ if issubclass(enumeration := getattr(models, name), Enum)]

    assert len(lists) > 10
    assert [enumeration for enumeration in lists if enumeration("of-tomorrow").value != "of-tomorrow"] == []


def layer(sdk: Any) -> Any:
    return importlib.import_module("controlplane_client.session")


def test_its_layer_follows_pages_sync_and_async(sdk, live):
    session = layer(sdk)
    for number in range(5):
        make_project(f"p{number}")
    client = session.connect(live.url, token_for("viewer"))
    projects = call("projects_list", sdk)

    async def names() -> list[str]:
        return [project.id async for project in session.every_async(projects, client=client, limit=2)]

    project_ids = [project.id for project in session.every(projects, client=client, limit=2)]
    assert project_ids == asyncio.run(names()) == [f"p{number}" for number in range(5)]
    with pytest.raises(session.Problem) as failed:
        list(session.every(projects, client=session.connect(live.url, "cp_pat_wrong")))
    assert (failed.value.status, failed.value.code) == (401, "not_authenticated")
    assert failed.value.request_id


def test_its_layer_changes_over_what_it_saw(sdk, live):
    session = layer(sdk)
    models = importlib.import_module("controlplane_client.models")
    make_project()
    api = Api(token_for("admin"))
    api.put("overrides/workflow_execution_config?project=flytesnacks", {"attributes": {"max_parallelism": 7}})
    client = session.connect(live.url, token_for("admin"))
    etags = []

    def read() -> Any:
        return call("overrides_get", sdk).sync_detailed(
            "workflow_execution_config", client=client, project="flytesnacks"
        )

    def write(now: Any, etag: str) -> Any:
        etags.append(etag)
        if len(etags) == 1:
            path = "overrides/workflow_execution_config?project=flytesnacks"
            assert api.put(path, {"attributes": {"max_parallelism": 8}}, If_Match=etag).status_code == 200
        more = now.attributes.to_dict()["max_parallelism"] + 1
        body = models.OverrideWriteRequest.from_dict({"attributes": {"max_parallelism": more}})
        return call("overrides_put", sdk).sync_detailed(
            "workflow_execution_config", client=client, body=body, project="flytesnacks", if_match=etag
        )

    done = session.update_with_etag(read, write)

    assert etags == ['"v1"', '"v2"']
    assert done.attributes.to_dict() == {"max_parallelism": 9}


def test_its_layer_watches_from_now_on(sdk, live):
    session = layer(sdk)
    client = session.connect(live.url, token_for("admin"))
    events = session.watch(client, after=0, object_type="project")
    make_project("one")
    make_project("two")

    async def first() -> list[str]:
        stream = session.watch_async(client, after=0, object_type="project")
        return [(await anext(stream))["object_id"] for _ in range(2)]

    assert [next(events)["object_id"] for _ in range(2)] == asyncio.run(first()) == ["one", "two"]


def test_its_watches_go_on_where_they_broke_and_say_what_is_wrong(sdk):
    session = layer(sdk)
    afters = []
    stream = b'id: 3\nevent: a.b\ndata: {"seq": 3}\n\nid: 7\nevent: bookmark\ndata: {}\n\nid: 8\ndata: {"se'
    more = b'id: 8\nevent: a.b\ndata: {"seq": 8}\n\n'
    answers: list[tuple[int, dict[str, Any]]] = [
        (200, {"content": stream}),
        (503, {"headers": {"Retry-After": "0"}}),
        (200, {"content": more}),
        (403, {"json": {"code": "permission_denied", "detail": "Not here."}}),
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        afters.append(request.url.params["after"])
        status, line = answers[(len(afters) - 1) % 4]
        return httpx.Response(status, **line)

    async def both() -> list[int]:
        stream = session.watch_async(client, after=2)
        seqs = [(await anext(stream))["seq"] for _ in range(2)]
        with pytest.raises(session.Problem, match="Not here"):
            await anext(stream)
        return seqs

    client = session.connect("http://x", "t", transport=httpx.MockTransport(answer))
    events = session.watch(client, after=2)
    assert [next(events)["seq"] for _ in range(2)] == [3, 8]
    with pytest.raises(session.Problem, match="Not here"):
        next(events)
    assert asyncio.run(both()) == [3, 8]
    assert afters == ["2", "7", "7", "8"] * 2


def test_its_watches_recover_from_dropped_events_if_the_caller_reads_the_resources_again(sdk):
    session = layer(sdk)
    gone = {"code": "events_gone", "detail": "Dropped.", "oldest_seq": 8}
    event = b'id: 8\nevent: a.b\ndata: {"seq": 8}\n\n'

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.params["after"] == "7":
            return httpx.Response(200, content=event)
        return httpx.Response(410, json=gone)

    async def first(**options: Any) -> Any:
        return await anext(session.watch_async(client, after=2, **options))

    client = session.connect("http://x", "t", transport=httpx.MockTransport(answer))
    gaps: list[int] = []
    assert next(session.watch(client, after=2, on_gap=gaps.append)) == {"seq": 8}
    assert asyncio.run(first(on_gap=gaps.append)) == {"seq": 8}
    assert gaps == [8, 8]
    for attempt in (lambda: next(session.watch(client, after=2)), lambda: asyncio.run(first())):
        with pytest.raises(session.Problem, match="Dropped"):
            attempt()


def test_its_layer_tries_again_with_the_same_key_and_asks_for_a_new_token(sdk):
    session = layer(sdk)
    tokens = iter(["old", "new"])
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append((request.headers["Authorization"], request.headers["Idempotency-Key"]))
        if len(requests) == 1:
            return httpx.Response(503, headers={"Retry-After": "0"})
        return httpx.Response(401 if len(requests) == 2 else 200, json={})

    client = session.connect("http://x", lambda: next(tokens, "new"), transport=httpx.MockTransport(answer))
    response = client.get_httpx_client().post("/api/v1/projects", json={})

    assert response.status_code == 200
    assert [who for who, _ in requests] == ["Bearer old", "Bearer new", "Bearer new"]
    assert len({key for _, key in requests}) == 1


@pytest.mark.parametrize(("method", "sent"), [("PATCH", 1), ("POST", 2)])
def test_an_unknown_outcome_is_repeated_with_a_key_only(sdk, method, sent):
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        is_first = len(requests) == 1
        return httpx.Response(
            503 if is_first else 200, headers={"Retry-After": "0"}, json={"code": "outcome_unknown"}
        )

    client = layer(sdk).connect("http://x", "token", transport=httpx.MockTransport(answer))
    response = client.get_httpx_client().request(method, "/api/v1/projects/p", json={})

    assert (len(requests), response.status_code) == (sent, 503 if sent == 1 else 200)


def test_what_the_guide_shows_runs(sdk, live, capsys):
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    make_project()
    token = token_for("admin")
    body = {"attributes": {"interruptible": True}}
    Api(token).put("overrides/workflow_execution_config?project=flytesnacks", body)
    Api(token).post("agents", AGENT)

    exec(block, {"URL": live.url, "TOKEN": token})

    agent, version, event = capsys.readouterr().out.splitlines()
    assert (agent, version) == ("a1 ready", "version 2")
    assert event.startswith("override.created ")


WATCHING = ROOT / "docs" / "guides" / "watching-values.md"


@pytest.fixture
def starting(sdk, db, tmp_path, settings, monkeypatch):
    """Runs the guide's program in a folder with the public key. asks: which control plane it reaches."""
    private = Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_bytes(
        private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    (tmp_path / "public.pem").write_bytes(
        private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    settings.AGENT_CONFIGS_SIGNING_KEYS = [str(tmp_path / "key.pem")]
    monkeypatch.chdir(tmp_path)
    session = layer(sdk)
    real, token = session.connect, token_for("admin")
    program, _ = re.findall(r"```python\n(.*?)```", WATCHING.read_text(), re.DOTALL)

    def run(**reached: Any) -> None:
        monkeypatch.setattr(session, "connect", lambda url, secret: real(url, secret, **reached))
        exec(program, {"URL": "http://127.0.0.1:9", "TOKEN": token})

    make_project()
    body = {"attributes": {"tier": "HIGH"}}
    place = "overrides/quality_of_service_specification?project=flytesnacks&domain=staging"
    assert Api(token).put(place, body).status_code == 201
    return run


class Django(httpx.BaseTransport):
    """The application in this process."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = dict(request.headers)
        answer = Client(raise_request_exception=False).generic(
            request.method,
            request.url.raw_path.decode(),
            request.read(),
            content_type=headers.pop("content-type"),
            headers={name: value for name, value in headers.items() if name != "host"},
        )
        return httpx.Response(answer.status_code, headers=dict(answer.items()), content=answer.content)


def test_a_program_starts_with_the_snapshot_of_its_last_start(sdk, starting, capsys, caplog, monkeypatch):
    monkeypatch.setattr(layer(sdk), "pause", lambda *tried, **answer: None)
    with pytest.raises(httpx.ConnectError):
        starting()
    starting(transport=Django())
    starting()

    assert capsys.readouterr().out.splitlines() == [
        "{'tier': 'HIGH'} True True",
        "{'tier': 'HIGH'} False True",
    ]
    (warning,) = [record.getMessage() for record in caplog.records if "is away" in record.getMessage()]
    assert re.search(r"Using values.json, which is 0:00:0\d", warning)


def test_a_snapshot_of_another_installation_is_refused_and_not_kept(sdk, starting, tmp_path):
    starting(transport=Django())
    kept = (tmp_path / "values.json").read_bytes()
    other = Ed25519PrivateKey.generate().public_key()
    (tmp_path / "public.pem").write_bytes(other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    snapshots = importlib.import_module("controlplane_client.snapshots")

    for reached in ({"transport": Django()}, {}):
        with pytest.raises(snapshots.SnapshotRefused):
            starting(**reached)

    assert (tmp_path / "values.json").read_bytes() == kept
    assert {file.name for file in tmp_path.iterdir()} == {"key.pem", "public.pem", "values.json"}


def test_a_refused_request_is_no_absence(sdk, starting):
    starting(transport=Django())
    Project.objects.all().delete()

    with pytest.raises(layer(sdk).Problem, match="unknown_project"):
        starting(transport=Django())


def following(sdk: Any, url: str, token: str, folder: Path, **more: Any) -> Any:
    """Effective values of the test's scope, signed by its server, in `values.json`."""
    values = importlib.import_module("controlplane_client.effective_values")
    keys = [(folder / "public.pem").read_bytes()]
    client = layer(sdk).connect(url, token)
    return values.EffectiveValues(client, folder / "values.json", [SCOPE], **{"keys": keys, **more})


async def soon(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not check():
            await asyncio.sleep(0.05)


def test_values_stay_current_and_remain_while_the_server_is_stopped(sdk, live, tmp_path):
    make_project()
    token = token_for("admin")
    set_tier(token, "HIGH")
    server = SigningServer(live.environment, tmp_path)
    tiers: list[Any] = []

    async def follow() -> None:
        async with following(sdk, server.url, token, tmp_path) as values:
            tiers.append(values.effective(SCOPE, TYPE)["tier"])
            await soon(lambda: values.is_live)
            changes = values.changes()
            await asyncio.to_thread(set_tier, token, "LOW")
            tiers.append((await asyncio.wait_for(anext(changes), 30)).effective(SCOPE, TYPE)["tier"])

            await asyncio.to_thread(server.kill)
            await soon(lambda: not values.is_live)
            tiers.append(values.effective(SCOPE, TYPE)["tier"])
            async with following(sdk, server.url, token, tmp_path) as started_meanwhile:
                tiers.append((started_meanwhile.effective(SCOPE, TYPE)["tier"], started_meanwhile.is_live))
                await asyncio.to_thread(set_tier, token, "MEDIUM")
                server.start()
                for each in (changes, started_meanwhile.changes()):
                    changed = await asyncio.wait_for(anext(each), 60)
                    tiers.append(changed.effective(SCOPE, TYPE)["tier"])

    try:
        asyncio.run(follow())
    finally:
        server.kill()
    assert tiers == ["HIGH", "LOW", "LOW", ("LOW", False), "MEDIUM", "MEDIUM"]


def test_a_follower_ends_when_it_is_refused_and_uses_no_old_values(sdk, live, tmp_path):
    make_project()
    token = token_for("viewer")
    set_tier(token_for("admin"), "HIGH")
    server = SigningServer(live.environment, tmp_path)
    values = importlib.import_module("controlplane_client.effective_values")

    async def follow() -> Any:
        old = following(sdk, server.url, token, tmp_path, max_age=timedelta(seconds=3))
        async with following(sdk, server.url, token, tmp_path) as followed, old:
            await soon(lambda: followed.is_live and old.is_live)
            await asyncio.to_thread(server.kill)
            await soon(lambda: old.age() > timedelta(seconds=3))
            with pytest.raises(values.SnapshotRefused, match="away"):
                old.effective(SCOPE, TYPE)
            assert followed.effective(SCOPE, TYPE) == {"tier": "HIGH"}
            await asyncio.to_thread(Token.objects.all().delete)
            server.start()
            with pytest.raises(values.Problem) as refused:
                await asyncio.wait_for(anext(followed.changes()), 60)
            return refused.value

    try:
        refused = asyncio.run(follow())
    finally:
        server.kill()
    assert refused.status == 401


def test_the_program_of_the_guide_that_follows_runs_and_takes_no_other_signature(
    sdk, live, tmp_path, monkeypatch, capsys
):
    make_project()
    token = token_for("admin")
    set_tier(token, "HIGH")
    server = SigningServer(live.environment, tmp_path)
    monkeypatch.chdir(tmp_path)
    _, program = re.findall(r"```python\n(.*?)```", WATCHING.read_text(), re.DOTALL)
    changing = change_after_snapshot(tmp_path, token, "LOW")
    try:
        exec(program, {"URL": server.url, "TOKEN": token, "SCOPE": SCOPE})
        assert capsys.readouterr().out.splitlines() == ["{'tier': 'HIGH'}", "{'tier': 'LOW'}"]

        kept = (tmp_path / "values.json").read_bytes()
        (tmp_path / "public.pem").write_bytes(public_pem(Ed25519PrivateKey.generate()))
        with pytest.raises(importlib.import_module("controlplane_client.snapshots").SnapshotRefused):
            exec(program, {"URL": server.url, "TOKEN": token, "SCOPE": SCOPE})
        assert (tmp_path / "values.json").read_bytes() == kept
    finally:
        changing.join()
        server.kill()
