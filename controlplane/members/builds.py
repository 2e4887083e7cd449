"""What this process was built from: version, commit, and the migrations of its code."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from django.conf import settings

from controlplane import __version__
from controlplane.members.versions import Build, is_contract


@cache
def this_build() -> Build:
    """Return the version, and the last migration that each app needs, by names of files alone."""
    names = settings.MIGRATION_MODULES.items()
    return Build(__version__, {app: _last(package) for app, package in names if package})


def _last(package: str) -> str:
    names = (module.name for module in pkgutil.iter_modules(import_module(package).__path__))
    return max((name for name in names if name[:1].isdigit() and not is_contract(name)), default="")
