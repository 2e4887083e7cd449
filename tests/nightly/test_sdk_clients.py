"""Clients that users generate themselves: linted, generated, compiled, and played against a running server.

The generators, linters and compilers come from package registries and are pinned in `sdk_clients/`. Needs
npm, go, java and mvn; a lane without them fails and names the missing program.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
from pathlib import Path

import pytest

from tests.support.api_client import token_for
from tests.support.paths import ROOT

PROGRAMS = Path(__file__).with_name("sdk_clients")
DOCUMENT = ROOT / "openapi.yaml"
# The caller has a name; version 1; the value and its level; the state after a heartbeat; a typed 404.
STORY = "true 1 7 project ready unknown_agent"
MINUTES = 600


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    program = str(command[0])
    if shutil.which(program) is None:
        pytest.fail(f"{program} is not installed; this lane needs npm, go, java and mvn.")
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=MINUTES,
        check=False,
    )
    assert ran.returncode == 0, f"{program} failed:\n{ran.stdout[-4000:]}\n{ran.stderr[-4000:]}"
    return ran.stdout


def played(server: str, *command: str | Path, cwd: Path) -> str:
    """Run a compiled story. Go prints booleans and levels as the others do."""
    return run(*command, cwd=cwd, CP_URL=server, CP_TOKEN=token_for("admin")).strip()


def environment(folder: Path) -> Path:
    """Make a virtual environment with pip; answer its interpreter."""
    venv.create(folder / "venv", with_pip=True)
    return folder / "venv" / "bin" / "python"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools") / "npm"
    shutil.copytree(PROGRAMS / "tools", folder, ignore=shutil.ignore_patterns("node_modules"))
    run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=folder)
    return folder / "node_modules"


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar of openapi-generator."""
    folder = tmp_path_factory.mktemp("generator")
    python = environment(folder)
    run(
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--require-hashes",
        "-r",
        PROGRAMS / "requirements.txt",
        cwd=folder,
    )
    return next(folder.rglob("openapi-generator.jar"))


@pytest.fixture
def generate(generator: Path, tmp_path: Path):
    """Generate a client beside a copy of the story in the same language."""

    def made(language: str, name: str, *options: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(PROGRAMS / name, folder)
        where = ("-i", DOCUMENT, "-o", folder / "client")
        run("java", "-jar", generator, "generate", "-g", language, *where, *options, cwd=folder)
        return folder

    return made


def test_spectral_and_redocly_find_no_error(tools, tmp_path):
    (tmp_path / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    result = run(
        tools / ".bin" / "spectral", "lint", "--format", "json", "--quiet", "-D", DOCUMENT, cwd=tmp_path
    )
    print(
        "redocly:", run(tools / ".bin" / "redocly", "lint", "--format", "json", DOCUMENT, cwd=tmp_path)[:400]
    )

    assert json.loads(result) == []


def test_go_by_openapi_generator(generate, live):
    options = "enumClassPrefix=true,packageName=controlplane,withGoMod=false"
    folder = generate("go", "go", f"--additional-properties={options}")
    shutil.rmtree(folder / "client" / "test")
    shutil.copytree(ROOT / "sdk" / "go" / "session", folder / "session")
    (folder / "go.mod").write_text("module controlplane\n\ngo 1.24\n")
    run("go", "vet", "./...", cwd=folder)
    run("go", "test", "./session", cwd=folder)

    # How many agents, page by page, and the first event about one; then the story with one change more.
    story = STORY.replace("true 1 7", "true 2 8")
    assert played(live.url, "go", "run", ".", cwd=folder).splitlines() == ["1 agent.registered", story]


def test_go_by_oapi_codegen(tmp_path, live):
    folder = tmp_path / "go"
    shutil.copytree(PROGRAMS / "go_oapi", folder)
    (folder / "client").mkdir()
    made = ("-package", "client", "-generate", "types,client", "-o", "client/client.go", DOCUMENT)
    run("go", "tool", "oapi-codegen", *made, cwd=folder)
    run("go", "vet", "./...", cwd=folder)

    assert played(live.url, "go", "run", ".", cwd=folder) == STORY


def test_java(generate, live):
    # A builder's method `wait` would override Object.wait, which is final.
    options = ("--library", "native", "--parameter-name-mappings", "wait=waitSeconds")
    folder = generate("java", "java", *options, "--additional-properties=useSingleRequestParameter=true")
    client = folder / "client"
    shutil.copy(folder / "Story.java", client / "src" / "main" / "java")
    quiet = ("--batch-mode", "-q", "-Dmaven.test.skip=true")
    run("mvn", *quiet, "compile", "dependency:copy-dependencies", "-DincludeScope=runtime", cwd=client)

    classes = "target/classes:target/dependency/*"
    assert played(live.url, "java", "-cp", classes, "Story", cwd=client) == STORY


def test_typescript(generate, live, tools):
    folder = generate("typescript-fetch", "typescript", "--additional-properties=importFileExtension=.js")
    (folder / "node_modules").symlink_to(tools)
    (folder / "package.json").write_text('{"type": "module"}')
    run(tools / ".bin" / "tsc", "-p", ".", cwd=folder)

    assert played(live.url, "node", "dist/story.js", cwd=folder) == STORY


def test_python(generate, live):
    folder = generate("python", "python")
    python = environment(folder)
    run(python, "-m", "pip", "install", "--quiet", "./client", cwd=folder)

    assert played(live.url, python, "story.py", cwd=folder) == STORY
