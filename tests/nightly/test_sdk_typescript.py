"""The generated TypeScript client: names to read aloud, strict types, and it works against a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controlplane.access.models import Token
from tests.support.api_client import AGENT, Api, make_project, token_for
from tests.support.beating_agent import BeatingAgent
from tests.support.openapi import operations
from tests.support.paths import ROOT
from tests.support.signing_server import SCOPE, SigningServer, change_after_snapshot, public_pem, set_tier

GUIDE = ROOT / "docs" / "guides" / "clients.md"
WATCHING = ROOT / "docs" / "guides" / "watching-values.md"
HEAD = f"""\
const URL = process.env["CP_URL"] ?? "";
const TOKEN = process.env["CP_TOKEN"] ?? "";
const SCOPE = {json.dumps(SCOPE)};
"""
PROGRAMS = Path(__file__).with_name("typescript")
# Serial numbers and shapes that a generator has to name itself.
UNSPEAKABLE = re.compile(r"\d$|Inline|AnyOf|AllOf|Enum$")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, generated and compiled as `make sdk` does, and with it two programs that use it.

    They do not compile if the types are lax: see the lines that expect an error.
    """
    if not shutil.which("npm"):
        raise AssertionError("Install node and npm: without them nobody tests the TypeScript client.")
    folder = tmp_path_factory.mktemp("typescript")
    shutil.copytree(PROGRAMS, folder / "src" / "programs")
    for name, guide in (("guide", GUIDE), ("following", WATCHING)):
        (block,) = re.findall(r"```typescript\n(.*?)```", guide.read_text(), re.DOTALL)
        block = block.replace('"controlplane-client"', '"../index.js"')
        (folder / "src" / "programs" / f"{name}.ts").write_text(HEAD + block)
    subprocess.run([sys.executable, str(ROOT / "sdk" / "generate.py"), "typescript", str(folder)], check=True)
    return folder


def run(package: Path, program: str, url: str) -> str:
    environment = {**os.environ, "CP_URL": url, "CP_TOKEN": token_for("admin")}
    ran = subprocess.run(
        ["node", f"dist/programs/{program}.js"],
        cwd=package,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_every_operation_has_a_function_and_no_type_a_made_up_name(package):
    functions = (package / "dist" / "generated" / "sdk.gen.d.ts").read_text()
    types = (package / "dist" / "generated" / "types.gen.d.ts").read_text()
    exported = set(re.findall(r"^export (?:declare const|type) (\w+)", functions + types, re.MULTILINE))

    for _, operation in operations():
        first, *more = operation["operationId"].split("_")
        assert first + "".join(word.capitalize() for word in more) in exported
    assert {"AgentRead", "Problem", "EffectiveRead"} <= exported
    assert [name for name in exported if UNSPEAKABLE.search(name)] == []


def test_pages_errors_etags_tries_and_a_watch(package, live):
    names = [f"p{number}" for number in range(5)]
    for name in names:
        make_project(name)

    document = json.loads(run(package, "basics", live.url))

    assert (document["names"], document["seen"]) == (names, names)
    assert (document["missing"], document["typed"]) == ([404, "unknown_agent", True], "unknown_agent")
    assert document["etags"] == ['"v1"', '"v2"']
    assert (document["attributes"], document["leaf"]) == ({"max_parallelism": 9}, 9)
    # Three tries with an old token, and one with the new: the same key each time.
    assert document["made"] == ["late", 4, 1, 2]
    assert (document["gap"], document["afterGap"]) == (8, [8, "2", "7"])
    assert document["tomorrow"] == ["of-tomorrow", 3, "controlplane-client-typescript/0.1.0"]


def test_a_team_moves_in_and_an_agent_comes_and_goes(package, live):
    with BeatingAgent(live.url, token_for("agent")):
        document = json.loads(run(package, "story", live.url))

    assert document["reviewed"] == [["created", ["/defaults/cpu"]]]
    assert document["ladder"] == ["2", "project_domain"]
    assert document["rolledBack"][1] != "project_domain"
    assert document["states"] == ["ready", "unavailable", "ready"]


def test_what_the_guide_shows_runs(package, live):
    make_project()
    api = Api(token_for("admin"))
    body = {"attributes": {"interruptible": True}}
    api.put("overrides/workflow_execution_config?project=flytesnacks", body)
    api.post("agents", AGENT)

    agent, version, event = run(package, "guide", live.url).splitlines()

    assert (agent, version) == ("a1 ready", "version 2")
    assert event.startswith("override.created ")


class Following:
    """The program `effective` in a folder with the public key; its lines, each read in time."""

    def __init__(self, package: Path, folder: Path, url: str, token: str, *arguments: str) -> None:
        program = package / "dist" / "programs" / "effective.js"
        self.process = subprocess.Popen(
            ["node", str(program), *arguments],
            cwd=folder,
            env={**os.environ, "CP_URL": url, "CP_TOKEN": token},
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> object:
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.append(self.process.stdout.readline()))
        reader.start()
        reader.join(60)
        assert not reader.is_alive(), "the program prints nothing"
        return json.loads(lines[0])


def test_values_stay_current_and_remain_while_the_server_is_stopped(package, live, tmp_path):
    make_project()
    token = token_for("admin")
    set_tier(token, "HIGH")
    server = SigningServer(live.environment, tmp_path)
    first = Following(package, tmp_path, server.url, token)
    try:
        assert first.line() == ["open", {"tier": "HIGH"}]
        assert first.line() == ["live", True]
        set_tier(token, "LOW")
        assert first.line() == ["changed", {"tier": "LOW"}]

        server.kill()
        assert first.line() == ["live", False]
        second = Following(package, tmp_path, server.url, token)
        assert second.line() == ["open", {"tier": "LOW"}]
        set_tier(token, "MEDIUM")
        server.start()
        for each in (first, second):
            changed = {json.dumps(each.line()) for _ in range(2)}
            assert changed == {'["changed", {"tier": "MEDIUM"}]', '["live", true]'}
        Token.objects.all().delete()
        server.kill()
        server.start()
        assert first.line() == ["live", False]
        assert first.line() == ["refused", 401]
        assert first.process.wait(60) == 0
    finally:
        server.kill()
        first.process.kill()
        second.process.kill()


def test_what_another_key_has_signed_is_refused(package, live, tmp_path):
    make_project()
    server = SigningServer(live.environment, tmp_path)
    (tmp_path / "public.pem").write_bytes(public_pem(Ed25519PrivateKey.generate()))
    try:
        refused = Following(package, tmp_path, server.url, token_for("admin"))
        assert refused.line() == ["failed", "SnapshotRefused"]
    finally:
        server.kill()
    assert {file.name for file in tmp_path.iterdir()} == {"key.pem", "public.pem", "web.log"}


def test_the_program_of_the_guide_that_follows_runs(package, live, tmp_path, monkeypatch):
    make_project()
    token = token_for("admin")
    set_tier(token, "HIGH")
    server = SigningServer(live.environment, tmp_path)
    changing = change_after_snapshot(tmp_path, token, "LOW")
    try:
        ran = subprocess.run(
            ["node", str(package / "dist" / "programs" / "following.js")],
            cwd=tmp_path,
            env={**os.environ, "CP_URL": server.url, "CP_TOKEN": token},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        changing.join()
        server.kill()
    assert ran.stdout.splitlines() == ["{ tier: 'HIGH' }", "{ tier: 'LOW' }"], ran.stderr
