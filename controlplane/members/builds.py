"""What this process was built from: version, commit, and the migrations of its code."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from django.conf import settings

from controlplane import __version__
from controlplane.members.versions import Build


@cache
def this_build() -> Build:
    """Return the version, and the last migration of each app by names of files, without importing them."""
    names = settings.MIGRATION_MODULES.items()
    return Build(__version__, {app: _last(package) for app, package in names if package})


def _last(package: str) -> str:
    modules = pkgutil.iter_modules(import_module(package).__path__)
    return max((module.name for module in modules if module.name[:1].isdigit()), default="")
