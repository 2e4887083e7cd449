"""Support bundles: what is known of a server and of this machine, without secrets. Pure.

The server sends no secrets. What it sends is searched all the same: a person may have written a password into
a name or an address.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from cpctl.contexts import Context

REMOVED = "(removed)"
_SECRET_NAME = re.compile(
    r"token$|secret$|password|passwd|passphrase|credential|authorization|cookie|api_?key|private_?key|seed$",
    re.IGNORECASE,
)
_PATTERNS = (
    # Tokens of ours; JSON Web Tokens; keys in PEM.
    re.compile(r"\bcp_[a-z]{3}_[0-9A-Za-z]{4,}"),
    re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*"),
    re.compile(r"-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL),
    # User names and passwords of URLs; secrets among parameters; headers.
    re.compile(r"(?<=://)[^/@\s\"']+(?=@)"),
    re.compile(
        r"(?<=[?&;])[\w.-]*(?:token|secret|password|signature|credential|key|sig|code)=[^&\s\"'<>]+",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:bearer|basic) +[\w.~+/=-]{8,}", re.IGNORECASE),
)
# Shorter texts are words, which must not be removed everywhere.
_SHORTEST_SECRET = 6


def without_secrets(value: Any, secrets: Collection[str] = ()) -> Any:
    """Return JSON without values that look like secrets. secrets: those that are known, removed anywhere."""
    known = sorted((text for text in secrets if len(text) >= _SHORTEST_SECRET), key=len, reverse=True)
    return _clean(value, known)


def _clean(value: Any, known: Collection[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            _clean_text(str(name), known): REMOVED if _is_secret(name, inner) else _clean(inner, known)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_clean(inner, known) for inner in value]
    return _clean_text(value, known) if isinstance(value, str) else value


def _is_secret(name: Any, value: Any) -> bool:
    return isinstance(value, str) and value != "" and bool(_SECRET_NAME.search(str(name)))


def _clean_text(text: str, known: Collection[str]) -> str:
    for secret in known:
        text = text.replace(secret, REMOVED)
    for pattern in _PATTERNS:
        text = pattern.sub(REMOVED, text)
    return text


def secrets_of(context: Context, environment: Mapping[str, str]) -> list[str]:
    """Return the secrets that this machine knows of: of the context, and of variables by their names."""
    login = context.login.refresh_token if context.login else ""
    named = [value for name, value in environment.items() if _SECRET_NAME.search(name)]
    return [secret for secret in (context.token, login, *named) if secret]


def context_facts(context: Context) -> dict[str, Any]:
    """Return what may be known of a context: how it logs in, and not with what."""
    login = context.login
    return {
        "name": context.name,
        "server": context.server,
        "production": context.production,
        "plugin_mode": context.plugin_mode,
        "logs_in_with": "oauth" if login else "static" if context.token else "nothing",
        "expires_at": login.expires_at if login else None,
        "renews": bool(login and (login.refresh_token or login.secret_file)),
    }


def archive(documents: Mapping[str, Any], folder: str, at: datetime) -> bytes:
    """Return a tar.gz with each document as JSON in a folder. documents: by name of the file."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as tar:
        for name, document in documents.items():
            body = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime, entry.mode = len(body), int(at.timestamp()), 0o600
            tar.addfile(entry, io.BytesIO(body))
    return written.getvalue()
