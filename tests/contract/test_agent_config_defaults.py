"""What an installation has where nobody sets anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

_PRINT = "from django.conf import settings; print(settings.AGENT_CONFIGS_MODE)"


@pytest.mark.parametrize(("module", "mode"), [("production", "granted"), ("dev", "open")])
def test_a_team_serves_in_production_only_what_was_granted_to_it(module, mode, tmp_path):
    environment = {
        "DJANGO_SETTINGS_MODULE": f"controlplane.settings.{module}",
        "SECRET_KEY": "x" * 60,
        "ALLOWED_HOSTS": "localhost",
        "PUBLIC_URL": "https://localhost",
        "DATABASE_URL": "postgres://nobody@localhost/none",
        "REDIS_URL": "redis://localhost",
        "NATS_URL": "nats://localhost",
        "DATA_DIR": str(tmp_path),
    }

    result = subprocess.run(
        [sys.executable, "-c", _PRINT], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert (result.stdout.strip(), result.stderr) == (mode, "")
