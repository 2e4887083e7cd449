"""FLYTE_AUTH_CONFIG_FILE in a real process: defaults of settings, mistakes, warnings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT

IDP = "https://idp.example.com/realms/a"
SETTINGS = (
    "AUTH_SERVER",
    "PUBLIC_URL",
    "FLYTE_CLIENT_ID",
    "FLYTE_CLIENT_SCOPES",
    "FLYTE_AUTHORIZATION_HEADERS",
    "EXTERNAL_AUTH_SERVER_METADATA",
)
SHOW = (
    "import django, json; django.setup(); from django.conf import settings;"
    f"print(json.dumps({{name: getattr(settings, name, None) for name in {SETTINGS}}}, default=sorted))"
)


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "controlplane.settings.base",
            "ALLOWED_HOSTS": "localhost",
            "PUBLIC_URL": "",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_file_gives_defaults_and_the_environment_wins(tmp_path: Path):
    file = tmp_path / "auth.yaml"
    file.write_text(
        "auth:\n  grpcAuthorizationHeader: x-token\n  authorizedUris: [https://cp.example.com]\n"
        "  appAuth:\n    authServerType: External\n"
        f"    externalAuthServer: {{baseUrl: {IDP}}}\n"
        "    thirdPartyConfig: {flyteClient: {clientId: from-file, scopes: [x, y]}}\n"
    )

    shown = python("-c", SHOW, FLYTE_AUTH_CONFIG_FILE=str(file), FLYTE_CLIENT_ID="from-environment")

    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout) == {
        "AUTH_SERVER": ["external"],
        "PUBLIC_URL": "https://cp.example.com",
        "FLYTE_CLIENT_ID": "from-environment",
        "FLYTE_CLIENT_SCOPES": ["x", "y"],
        "FLYTE_AUTHORIZATION_HEADERS": ["x-token", "flyte-authorization"],
        "EXTERNAL_AUTH_SERVER_METADATA": f"{IDP}/.well-known/oauth-authorization-server",
    }


def test_a_mistake_prevents_the_start_and_names_file_and_line(tmp_path: Path):
    file = tmp_path / "auth.yaml"
    file.write_text("auth:\n  appAuth:\n    authServerType: Slef\n")

    shown = python("-c", SHOW, FLYTE_AUTH_CONFIG_FILE=str(file))

    assert shown.returncode != 0
    assert (
        "FLYTE_AUTH_CONFIG_FILE is invalid:\nauth.yaml, line 3: `auth.appAuth.authServerType`" in shown.stderr
    )


def test_what_has_no_effect_is_a_warning_of_the_check(tmp_path: Path):
    file = tmp_path / "auth.yaml"
    file.write_text("auth:\n  colour: blue\n")

    shown = python(str(ROOT / "manage.py"), "check", FLYTE_AUTH_CONFIG_FILE=str(file))

    assert "(access.W001) auth.yaml, line 2: `auth.colour` is unknown" in shown.stderr


def test_an_external_server_must_be_named():
    shown = python(str(ROOT / "manage.py"), "check", AUTH_SERVER="external")

    assert shown.returncode != 0
    assert "(access.E001) AUTH_SERVER contains external" in shown.stderr
