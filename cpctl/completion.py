"""Names for the shell's completion: from the server, kept for a while, and never slow or loud."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import typer

_KEPT_SECONDS = 60.0
_BUDGET_SECONDS = 0.2


def projects(ctx: typer.Context, incomplete: str) -> list[str]:
    return _names(ctx, "scopes/projects", "id", incomplete)


def domains(ctx: typer.Context, incomplete: str) -> list[str]:
    return _names(ctx, "scopes/domains", "id", incomplete)


def names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the kind that was typed before."""
    return _quietly(lambda: _names_of(ctx, str(ctx.params.get("kind") or ""), incomplete))


def documents(ctx: typer.Context, incomplete: str) -> list[str]:
    return _quietly(lambda: _names_of(ctx, "agent-configs", incomplete))


def planes(ctx: typer.Context, incomplete: str) -> list[str]:
    return _names(ctx, "data-planes", "name", incomplete)


def task_types(ctx: typer.Context, incomplete: str) -> list[str]:
    return _names(ctx, "task-types", "name", incomplete)


def types(ctx: typer.Context, incomplete: str) -> list[str]:
    return _names(ctx, "resource-types", "name", incomplete)


def agents(ctx: typer.Context, incomplete: str) -> list[str]:
    return _names(ctx, "agents", "name", incomplete)


def contexts(incomplete: str) -> list[str]:
    from cpctl.session import SESSION

    return _quietly(lambda: _starting(incomplete, list(SESSION.config().contexts)))


def kinds(incomplete: str) -> list[str]:
    from cpctl.kinds import KINDS

    return _starting(incomplete, [kind.name for kind in KINDS])


def _names_of(ctx: typer.Context, kind_name: str, incomplete: str) -> list[str]:
    from cpctl.kinds import kind_named

    kind = kind_named(kind_name)
    if not kind.key:
        return []
    if kind.key == "resource_type":
        return types(ctx, incomplete)
    return _starting(incomplete, _known(ctx, kind.path, kind.label))


def _names(ctx: typer.Context, path: str, key: str, incomplete: str) -> list[str]:
    return _quietly(lambda: _starting(incomplete, _known(ctx, path, itemgetter(key))))


def _starting(incomplete: str, names: list[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _quietly(find: Callable[[], list[str]]) -> list[str]:
    """No names is better than an error in the middle of what somebody types."""
    try:
        return find()
    except Exception:
        return []


def _known(ctx: typer.Context, path: str, name_of: Callable[[Any], str]) -> list[str]:
    from cpctl.session import SESSION

    # While completing, no command runs, so nobody has taken the options that stand before it.
    said = ctx.find_root().params
    SESSION.context, SESSION.server = said.get("context") or "", said.get("server") or ""
    # Standard input is the person's keyboard now.
    SESSION.token_file = (said.get("token_file") or "").removeprefix("-")
    context = SESSION.chosen()
    place = _cache_file(f"{context.server} {hash_of(context.token)} {path}")
    if place.exists() and time.time() - place.stat().st_mtime < _KEPT_SECONDS:
        return list(json.loads(place.read_text()))
    answer = SESSION.api(context, tries=False).send(
        "GET", path, query={} if path == "resource-types" else {"limit": 200}, timeout=_BUDGET_SECONDS
    )
    found: list[str] = [name_of(item) for item in answer.json()["items"]]
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.write_text(json.dumps(found))
    return found


def hash_of(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _cache_file(question: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cpctl" / f"{hash_of(question)}.json"
