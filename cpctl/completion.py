"""Names for shell completion, from the server with a cache, without delays or error messages."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from cpctl.contexts import Context

_KEPT_SECONDS = 60.0
_BUDGET_SECONDS = 0.2
_PAGE = 200
_WITHOUT_PAGES = frozenset({"resource-types", "identity-providers"})
# Lists that the server can search.
_SEARCHED = frozenset({"agents"})


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
    prefix = incomplete if kind.path in _SEARCHED else ""
    return _starting(incomplete, _cached_names(ctx, kind.path, kind.label, prefix))


def _names(ctx: typer.Context, path: str, key: str, incomplete: str) -> list[str]:
    prefix = incomplete if path in _SEARCHED else ""
    return _quietly(lambda: _starting(incomplete, _cached_names(ctx, path, itemgetter(key), prefix)))


def _starting(incomplete: str, names: list[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _quietly(find: Callable[[], list[str]]) -> list[str]:
    """Return no names in case of an error, which would disturb the command line."""
    try:
        return find()
    except Exception:
        return []


def _cached_names(
    ctx: typer.Context, path: str, name_of: Callable[[Any], str], prefix: str = ""
) -> list[str]:
    """Return names. With more than a page of them, those that match the prefix are asked of the server."""
    context = _context(ctx)
    place = f"{context.server} {hash_of(context.token)} {path}"
    cached = _cached(place)
    if cached is None:
        cached = _ask(context, path, name_of, "")
        _keep(place, cached)
    if cached["is_whole"] or not prefix:
        return list(cached["names"])
    matches = _cached(f"{place} {prefix}")
    if matches is None:
        matches = _ask(context, path, name_of, prefix)
        _keep(f"{place} {prefix}", matches)
    return list(matches["names"])


def _context(ctx: typer.Context) -> Context:
    from cpctl.session import SESSION

    # During completion no command runs, so the global options have not been processed.
    parameters = ctx.find_root().params
    SESSION.context, SESSION.server = parameters.get("context") or "", parameters.get("server") or ""
    # Standard input is the keyboard during completion.
    SESSION.token_file = (parameters.get("token_file") or "").removeprefix("-")
    return SESSION.chosen()


def _ask(context: Context, path: str, name_of: Callable[[Any], str], prefix: str) -> dict[str, Any]:
    """Ask for pages as long as there is time. Of lists that can be searched, one is enough."""
    from cpctl.session import SESSION

    api = SESSION.api(context, tries=False)
    query = {} if path in _WITHOUT_PAGES else {"limit": _PAGE, "q": prefix}
    until, cursor, names = time.monotonic() + _BUDGET_SECONDS, "", []
    while (left := until - time.monotonic()) > 0:
        answer = api.send("GET", path, query={**query, "cursor": cursor}, timeout=left).json()
        names += [name_of(item) for item in answer["items"]]
        cursor = answer.get("next_cursor") or ""
        if not cursor or path in _SEARCHED:
            break
    return {"names": names, "is_whole": not cursor}


def _cached(question: str) -> dict[str, Any] | None:
    cache = _cache_file(question)
    if not cache.exists() or time.time() - cache.stat().st_mtime >= _KEPT_SECONDS:
        return None
    cached = json.loads(cache.read_text())
    return cached if isinstance(cached, dict) else None


def _keep(question: str, names: dict[str, Any]) -> None:
    cache = _cache_file(question)
    cache.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    cache.write_text(json.dumps(names))


def hash_of(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _cache_file(question: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "cpctl" / f"{hash_of(question)}.json"
