"""Names of settings of a task or hook, which become environment variables in a shell. Pure."""

from __future__ import annotations

import re

_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
SETTING_RULE = "The name of a setting has letters, digits and underscores, and does not begin with a digit."


def is_setting_name(name: str) -> bool:
    return _SETTING.fullmatch(name) is not None
