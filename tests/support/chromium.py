"""The Chromium of this machine, for tests in a browser and for pictures."""

from __future__ import annotations

import os
import shutil

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "No Chromium here. Install the package `chromium-headless-shell` or `chromium`, or name one with"
    " CHROMIUM=/path/to/it."
)


def find_chromium() -> str | None:
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
