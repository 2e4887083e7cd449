"""Fetches from providers of type `s3` and `gcs`, with s3fs and gcsfs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from controlplane.errors import RemoteFailed
from registry.plugin_releases.fetching.fetcher import Repository

_STEP_SECONDS = 10
# Of a service account. Others name addresses that the client would send requests to.
_KEY_FIELDS = ("type", "project_id", "private_key_id", "private_key", "client_email", "client_id")
_TOKENS = "https://oauth2.googleapis.com/token"


def fetch(
    repository: Repository, path: str, target: Path, *, max_bytes: int, count: Callable[[int], None]
) -> str:
    """Copy the object. Raises RemoteFailed."""
    provider = repository.provider
    name = f"{provider.settings['bucket']}/{repository.path_of(path)}"
    address = f"{provider.type}://{name}"
    try:
        _copy(repository, name, target, max_bytes=max_bytes, count=count)
    except RemoteFailed as error:
        raise RemoteFailed(f"The object {address} cannot be used: {error.detail}") from error
    except ImportError as error:
        package = {"s3": "s3fs", "gcs": "gcsfs"}[provider.type]
        raise RemoteFailed(f"Providers of this type need the package {package} on the installer.") from error
    except Exception as error:
        # The clients' classes have no common base, and their messages can quote requests.
        raise RemoteFailed(f"The object {address} cannot be read: {type(error).__name__}.") from error
    return address


def _copy(
    repository: Repository, name: str, target: Path, *, max_bytes: int, count: Callable[[int], None]
) -> None:
    files = _file_system(repository)
    bounded = _bounded_callback(max_bytes, repository.seconds, count)
    if int(files.info(name, timeout=repository.seconds)["size"]) > max_bytes:
        raise RemoteFailed(f"it has more than {max_bytes:,} bytes.")
    one_stream = {"max_concurrency": 1} if repository.provider.type == "s3" else {}
    files.get_file(name, str(target), callback=bounded, timeout=repository.seconds, **one_stream)


def _bounded_callback(max_bytes: int, seconds: float, count: Callable[[int], None]) -> Any:
    from fsspec.callbacks import Callback  # type: ignore[import-untyped]

    until, received = time.monotonic() + seconds, 0

    class Bounded(Callback):  # type: ignore[misc]
        """Counts what arrives, and ends a transfer that is too long."""

        def relative_update(self, inc: int = 1) -> None:
            nonlocal received
            received += inc
            count(inc)
            if received > max_bytes:
                raise RemoteFailed(f"it has more than {max_bytes:,} bytes.")
            if time.monotonic() > until:
                raise RemoteFailed(f"it did not arrive within {seconds:g} seconds.")

    return Bounded()


def _file_system(repository: Repository) -> Any:
    if "endpoint" in repository.provider.settings and not repository.is_platform:
        # Refused when the configuration was written; the clients would resolve the name themselves.
        raise RemoteFailed("a team's bucket is at the cloud's own address. Remove endpoint.")
    if repository.provider.type == "s3":
        import s3fs  # type: ignore[import-untyped]

        # A client for each file: a shared one would be shared with other teams.
        return s3fs.S3FileSystem(skip_instance_cache=True, **_s3_options(repository))
    # The plain class: what the package offers otherwise asks for the bucket's type by gRPC first.
    from gcsfs.core import GCSFileSystem  # type: ignore[import-untyped]

    return GCSFileSystem(skip_instance_cache=True, **_gcs_options(repository))


def _s3_options(repository: Repository) -> dict[str, Any]:
    settings, secret = repository.provider.settings, repository.secret
    limits = {"connect_timeout": _STEP_SECONDS, "read_timeout": _STEP_SECONDS}
    options: dict[str, Any] = {
        "anon": repository.provider.auth.type == "none",
        "config_kwargs": {**limits, "retries": {"max_attempts": repository.retries}},
    }
    if endpoint := settings.get("endpoint"):
        options["endpoint_url"] = endpoint
    if region := settings.get("region"):
        options["client_kwargs"] = {"region_name": region}
    if secret:
        keys = _json_object(secret)
        options |= {"key": keys["access_key_id"], "secret": keys["secret_access_key"]}
        options["token"] = keys.get("session_token")
    return options


def _gcs_options(repository: Repository) -> dict[str, Any]:
    options: dict[str, Any] = {"requests_timeout": repository.seconds}
    if endpoint := repository.provider.settings.get("endpoint"):
        options["endpoint_url"] = endpoint
    if repository.provider.auth.type == "none":
        return {**options, "token": "anon"}
    if not repository.secret:
        return {**options, "token": "google_default"}
    return {**options, "token": service_account_of(_json_object(repository.secret))}


def service_account_of(key: Mapping[str, Any]) -> dict[str, Any]:
    """Return a service account's key without addresses: its tokens come from Google alone."""
    if key.get("type") != "service_account":
        raise RemoteFailed("its credential is no JSON key of a service account.")
    return {name: key[name] for name in _KEY_FIELDS if name in key} | {"token_uri": _TOKENS}


def _json_object(secret: str) -> Mapping[str, Any]:
    try:
        content = json.loads(secret)
    except ValueError as error:
        raise RemoteFailed("its credential is no JSON.") from error
    if not isinstance(content, dict):
        raise RemoteFailed("its credential is no JSON object.")
    return content
