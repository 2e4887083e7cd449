"""Names for shell completion, from the server with a cache, without delays or error messages."""

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
    """Return names of the kind on the command line."""
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


def resources(ctx: typer.Context, incomplete: str) -> list[str]:
    return _names(ctx, "resources", "id", incomplete)


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
    return _starting(incomplete, _cached_names(ctx, kind.path, kind.label))


def _names(ctx: typer.Context, path: str, key: str, incomplete: str) -> list[str]:
    return _quietly(lambda: _starting(incomplete, _cached_names(ctx, path, itemgetter(key))))


def _starting(incomplete: str, names: list[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _quietly(find: Callable[[], list[str]]) -> list[str]:
    """Return no names in case of an error, which would disturb the command line."""
    try:
        return find()
    except Exception:
        return []


def _cached_names(ctx: typer.Context, path: str, name_of: Callable[[Any], str]) -> list[str]:
    from cpctl.session import SESSION

    # During completion no command runs, so the global options have not been processed.
    parameters = ctx.find_root().params
    SESSION.context, SESSION.server = parameters.get("context") or "", parameters.get("server") or ""
    # Standard input is the keyboard during completion.
    SESSION.token_file = (parameters.get("token_file") or "").removeprefix("-")
    context = SESSION.chosen()
    cache = _cache_file(f"{context.server} {hash_of(context.token)} {path}")
    if cache.exists() and time.time() - cache.stat().st_mtime < _KEPT_SECONDS:
        return list(json.loads(cache.read_text()))
    response = SESSION.api(context, tries=False).send(
        "GET", path, query={} if path == "resource-types" else {"limit": 200}, timeout=_BUDGET_SECONDS
    )
    names: list[str] = [name_of(item) for item in response.json()["items"]]
    cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    cache.write_text(json.dumps(names))
    return names


def hash_of(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _cache_file(question: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cpctl" / f"{hash_of(question)}.json"
