"""Settings as a support bundle has them: numbers and switches, and no text that nobody declared as shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from controlplane.installation.shown_settings import shown_settings
from controlplane.settings import environment as env

# Texts whose declaration says that they are no secrets. Think before you add one.
SHOWN_TEXTS = {"BUILD_COMMIT", "LOG_FORMAT", "LOG_LEVEL", "OVERRIDES_SOURCE", "SMTP_SECURITY"}


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> dict[str, env.Setting]:
    monkeypatch.setattr(env, "DECLARED", {})
    return env.DECLARED


def test_planted_secrets_are_in_no_value(declared, monkeypatch, tmp_path: Path):
    (tmp_path / "secret").write_text("planted-in-a-file")
    planted = {"A_TEXT": "planted-text", "A_LIST": "planted-1,planted-2", "A_CHOICE": "planted-choice"}
    for name, value in {**planted, "A_FILE_FILE": str(tmp_path / "secret"), "A_NUMBER": "5"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AN_ADDRESS", "https://ada:planted@example.com/x")
    env.text("A_TEXT", default="", meaning="m")
    env.names("A_LIST", default="", meaning="m")
    env.parsed("A_CHOICE", str, default="", meaning="m")
    env.text("A_FILE", default="", meaning="m")
    env.text("AN_ADDRESS", default="", meaning="m", is_shown=True)
    env.integer("A_NUMBER", default=1, meaning="m")
    env.boolean("A_SWITCH", default=False, meaning="m")

    shown = {setting.name: setting for setting in shown_settings(declared.values())}
    assert "planted" not in repr(shown)
    assert {name for name, setting in shown.items() if setting.is_set} == set(shown) - {"A_SWITCH"}
    assert (shown["A_NUMBER"].value, shown["A_SWITCH"].value) == ("5", None)
    assert shown["AN_ADDRESS"].value == "https://…@example.com/x"


def test_only_numbers_switches_and_these_texts_are_shown():
    shown = {setting.name for setting in settings.DECLARED_SETTINGS.values() if setting.is_shown}
    defaults = {name: settings.DECLARED_SETTINGS[name].default for name in shown}
    texts = {
        name
        for name, default in defaults.items()
        if default not in ("true", "false") and not str(default).isdecimal()
    }
    assert texts == SHOWN_TEXTS
    assert not shown & {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "NATS_URL", "SMTP_PASSWORD"}
    assert len(shown) > 60
