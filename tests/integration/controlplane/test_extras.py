"""The core runs without its extras, and says what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# As if the packages were not installed: importing such a name fails, and no search finds it.
WITHOUT_EXTRAS = """
import os, sys
extras = ("flyteidl", "google", "grpc", "grpc_health", "grpc_reflection", "kubernetes", "uvloop", "apprise")
sys.modules.update(dict.fromkeys(extras))
import controlplane.asgi
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client
from registry.agent_configs.reachability.policies import probes_are_enabled
import json

settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES = ["acme"]

def refusal(command):
    try:
        call_command(command)
    except CommandError as error:
        return str(error)

flyte = ["/api/v1/project_attributes/flytesnacks", "/healthcheck", "/api/v1/openapi"]
paths = [*flyte, "/api/v1/agents", "/livez"]
print(json.dumps({
    "status": {path: Client().get(path).status_code for path in paths},
    "probes": probes_are_enabled(),
    "refusals": [refusal("flyte_grpc"), refusal("watch_agent_configs")],
}))
"""


def without_extras(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS + program],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "controlplane.settings.test", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_core_serves_without_its_extras():
    ran = without_extras("")

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == {
        "status": {
            "/api/v1/project_attributes/flytesnacks": 404,
            "/healthcheck": 404,
            "/api/v1/openapi": 404,
            "/api/v1/agents": 401,
            "/livez": 200,
        },
        "probes": False,
        "refusals": [
            f"The extra `{extra}` is not installed: pip install --require-hashes -r requirements/runtime.txt"
            for extra in ("flyte", "kubernetes")
        ],
    }


def test_a_check_says_in_one_line_what_is_missing():
    ran = without_extras("call_command('check')")

    lines = [line for line in ran.stderr.splitlines() if "extra `flyte`" in line]
    assert (ran.returncode, len(lines)) == (0, 1), ran.stderr
    assert "no Flyte API (HTTP, gRPC), and no probes of agents" in lines[0]


def test_new_documents_cannot_wait_for_probes_that_nobody_makes():
    ran = without_extras("call_command('check')", AGENT_PROBES="gate-new")

    assert ran.returncode != 0
    assert "AGENT_PROBES is gate-new" in ran.stderr
