"""The support bundle of `doctor`: what it asks for, and the file."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpctl import VERSION
from cpctl.contexts import Context
from cpctl.errors import ApiError, CpctlError, UsageError
from cpctl.session import SESSION
from cpctl.support_bundle import archive, context_facts, secrets_of, without_secrets

if TYPE_CHECKING:
    from cpctl.client import Api


def write_bundle(path: Path, findings: list[dict[str, Any]]) -> None:
    """Write what is known of the server and this machine. Raises UsageError if the file exists."""
    now = datetime.now(UTC)
    context = _context()
    documents: dict[str, Any] = {
        "manifest.json": {"made_at": now.isoformat(), "cpctl": VERSION, "format": 1},
        "client.json": _client(context),
        "findings.json": findings,
        **(_of_server(SESSION.api(context)) if context else {}),
    }
    secrets = secrets_of(context or Context("", ""), os.environ)
    cleaned = without_secrets(documents, secrets)
    _write(path, archive(cleaned, f"cpctl-support-{now:%Y%m%dT%H%M%SZ}", now))


def _context() -> Context | None:
    try:
        return SESSION.chosen()
    except CpctlError:
        return None


def _client(context: Context | None) -> dict[str, Any]:
    return {
        "cpctl": VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "is_terminal": sys.stdout.isatty(),
        "context": context_facts(context) if context else None,
        # Names alone.
        "variables": sorted(
            name for name in os.environ if name.startswith(("CPCTL_", "XDG_CONFIG")) or _is_proxy(name)
        ),
    }


def _is_proxy(name: str) -> bool:
    return name.lower() in ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


def _of_server(api: Api) -> Mapping[str, Any]:
    return {
        "version.json": _ask(lambda: api.get("version").json()),
        "meta.json": _ask(lambda: api.get("meta").json()),
        "support.json": _ask(lambda: api.get("meta/support").json()),
        "openapi.json": _ask(lambda: _digest(api)),
    }


def _digest(api: Api) -> dict[str, Any]:
    body = api.get("openapi.yaml", accept="*/*").body
    return {"sha256": sha256(body).hexdigest(), "bytes": len(body)}


def _ask(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except ApiError as error:
        return {"error": error.message, "status": error.status, "code": error.code}
    except CpctlError as error:
        return {"error": error.message}


def _write(path: Path, body: bytes) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise UsageError(f"{path} exists. Choose another name for the bundle.") from error
    except OSError as error:
        raise UsageError(f"Cannot write {path}: {error.strerror}.") from error
    with os.fdopen(handle, "wb") as file:
        file.write(body)
