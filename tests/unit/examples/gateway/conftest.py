"""The modules of the reference gateway, found as the program finds them: in its own folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace

import pytest

from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "gateway"
NAMES = ("reports", "bulk_client", "local_reports", "gateway")


@pytest.fixture(scope="module")
def program() -> Iterator[SimpleNamespace]:
    sys.path.insert(0, str(FOLDER))
    yield SimpleNamespace(**{name: import_module(name) for name in NAMES})
    sys.path.remove(str(FOLDER))
    for name in NAMES:
        del sys.modules[name]
