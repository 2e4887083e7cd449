"""Versions that run beside each other: which go together with the schema and which do not. Pure.

Processes of the previous release run beside those of this one during an upgrade. Releases are compared by
their numbers; a suffix such as `rc1` is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

# The previous release: the oldest whose processes work with the schema of this one. Raise it at a release.
OLDEST_PROCESS = "0.1.0"
# A process writes every ten seconds. It is gone after six that are missing.
GONE_AFTER = timedelta(seconds=60)
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_MIGRATION = re.compile(r"\d+")
_CONTRACT = re.compile(r"\d+_contract_")


class Skew(StrEnum):
    """How a process goes together with the database and with the others, from good to bad."""

    OK = "ok"
    # Older or newer than another process, and supported beside it.
    SKEWED = "skewed"
    # The database has migrations that the process does not know, and that it works with.
    NEWER_SCHEMA = "newer_schema"
    # The database lacks migrations that the process needs.
    SCHEMA_MISSING = "schema_missing"
    # Older than the release before that of the schema.
    TOO_OLD = "too_old"


_ORDER = tuple(Skew)


@dataclass(frozen=True, slots=True)
class Build:
    """What a process was built from. schema: the last migration of each app that its code has."""

    version: str
    schema: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Schema:
    """What the database has. oldest_process: empty if nobody has recorded it."""

    applied: Mapping[str, str]
    oldest_process: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A process that runs, as far as its version matters."""

    version: str
    started_at: datetime


def is_too_old(version: str, oldest: str) -> bool:
    """True if the version is older. Versions that cannot be read are never too old."""
    return bool(numbers(version) and numbers(oldest)) and numbers(version) < numbers(oldest)


def skew_of(build: Build, schema: Schema, newest: str) -> Skew:
    """Return how a process goes together with the schema. newest: the newest version that runs."""
    if is_too_old(build.version, schema.oldest_process):
        return Skew.TOO_OLD
    ahead = [_number(schema.applied.get(app, "")) - _number(last) for app, last in build.schema.items()]
    if any(number < 0 for number in ahead):
        return Skew.SCHEMA_MISSING
    if any(number > 0 for number in ahead) or set(schema.applied) - set(build.schema):
        return Skew.NEWER_SCHEMA
    return Skew.OK if numbers(build.version) == numbers(newest) else Skew.SKEWED


def worst(skews: Iterable[Skew]) -> Skew:
    return max(skews, key=_ORDER.index, default=Skew.OK)


def newest(versions: Iterable[str]) -> str:
    """Return the newest version; empty if there are none."""
    return max(versions, key=numbers, default="")


def skewed_for(runs: Iterable[Run], now: datetime) -> timedelta:
    """Return for how long processes of several versions have run: since the newest version started."""
    runs = tuple(runs)
    top = numbers(newest(run.version for run in runs))
    if all(numbers(run.version) == top for run in runs):
        return timedelta()
    began = min(run.started_at for run in runs if numbers(run.version) == top)
    return max(now - began, timedelta())


def is_gone(seen_at: datetime, now: datetime) -> bool:
    return now - seen_at > GONE_AFTER


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, such as (0, 2, 0); empty if it has none."""
    match = _NUMBERS.match(version)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def is_contract(migration: str) -> bool:
    """Return whether a migration only drops what its code no longer uses, by its name."""
    return _CONTRACT.match(migration) is not None


def _number(migration: str) -> int:
    match = _MIGRATION.match(migration)
    return int(match.group()) if match else 0
