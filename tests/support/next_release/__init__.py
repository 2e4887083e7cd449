"""Migrations of the app `installation` as a later release would have them: ours, and those of this folder."""

from __future__ import annotations

import pkgutil
from importlib import import_module

_ours = import_module("migrations.installation").__path__
LAST = max(module.name for module in pkgutil.iter_modules(_ours) if module.name[:1].isdigit())
__path__ = [*_ours, *__path__]
