"""The generated Python client: whole, with names to read aloud, and it works against a running server."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api_client import Api, make_project, token_for

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = {
    operation["operationId"]
    for methods in yaml.safe_load((ROOT / "openapi.yaml").read_text())["paths"].values()
    for operation in methods.values()
}
# Serial numbers and shapes that the generator had to name itself.
UNSPEAKABLE = re.compile(r"\d$|Type\d|Inline|AnyOf|AllOf|ItemItem")


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory):
    """The package, generated as `make sdk` does: from openapi.yaml, and a warning is an error."""
    folder = tmp_path_factory.mktemp("sdk")
    shutil.copy(ROOT / "sdk" / "python.yaml", folder)
    shutil.copy(ROOT / "openapi.yaml", folder)
    command = "generate --path openapi.yaml --config python.yaml --meta setup --fail-on-warning"
    ran = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *command.split(), "--output-path", "python"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
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
    models = importlib.import_module("controlplane_client.models")
    make_project()
    with sdk.AuthenticatedClient(base_url=live.url, token=token_for("admin")) as client:
        body = models.OverrideWriteRequest.from_dict({"attributes": {"max_parallelism": 7}})
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


def test_it_sends_yaml_as_text(sdk, live):
    make_project()
    text = "kind: overrides\nproject: flytesnacks\nspec: {workflowExecutionConfig: {maxParallelism: 4}}\n"
    with sdk.AuthenticatedClient(base_url=live.url, token=token_for("admin")) as client:
        plan = call("overrides_apply", sdk).sync(client=client, body=text, dry_run=True)

    assert plan.summary.created == 1
    assert Api(token_for("admin")).get("overrides").json()["items"] == []
