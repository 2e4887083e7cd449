"""The generated TypeScript client: names to read aloud, strict types, and it works against a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.api_client import AGENT, Api, make_project, token_for
from tests.support.beating_agent import BeatingAgent
from tests.support.openapi import operations
from tests.support.paths import ROOT

GUIDE = ROOT / "docs" / "guides" / "clients.md"
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
    (block,) = re.findall(r"```typescript\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (folder / "src" / "programs" / "guide.ts").write_text(
        'const URL = process.env["CP_URL"] ?? "";\nconst TOKEN = process.env["CP_TOKEN"] ?? "";\n'
        + block.replace('"controlplane-client"', '"../index.js"')
    )
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
