"""Settings of sinks at the topics of clouds: what they have in common, and what of it is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from controlplane.delivery.kinds import invalid_setting
from controlplane.errors import InvalidRequest, RemoteFailed
from controlplane.outgoing import allowed_networks, check_target

# For a request as a whole: with the look-up of credentials, it ends within a relay's lease.
REQUEST_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class CloudKind:
    """A kind of sink at a cloud. product: for people. needed: its settings. package: of the extra."""

    name: str
    product: str
    extra: str
    package: str
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ("endpoint",)


def check_names(kind: CloudKind, config: Mapping[str, Any], credentials: Collection[str]) -> None:
    """Raise InvalidRequest for settings that the kind has not, or lacks, and for credentials."""
    for name in config.keys() - {*kind.needed, *kind.optional}:
        raise invalid_setting(f"/config/{name}", f"A sink of kind {kind.name} has no setting {name}.")
    for name in credentials:
        message = f"A sink of kind {kind.name} has no credentials: the relay's own identity sends."
        raise invalid_setting(f"/credentials/{name}", message)
    for name in kind.needed:
        if not config.get(name):
            raise invalid_setting(f"/config/{name}", f"A sink of kind {kind.name} needs {name}.")


def check_installed(kind: CloudKind) -> None:
    """Raise InvalidRequest if the packages of the kind are missing."""
    try:
        is_installed = find_spec(kind.package) is not None
    except ModuleNotFoundError:
        is_installed = False
    if not is_installed:
        message = f"This installation cannot send to {kind.product}."
        message += f" Install controlplane[{kind.extra}] where the relay runs."
        raise invalid_setting("/kind", message)


def check_endpoint(endpoint: str) -> None:
    """Raise InvalidRequest for an endpoint to which nothing may be sent. Empty: the cloud's own."""
    if not endpoint:
        return
    parts = urlsplit(endpoint)
    if parts.scheme != "https" and not (parts.scheme == "http" and settings.WEBHOOK_ALLOW_HTTP):
        raise invalid_setting("/config/endpoint", "An endpoint must begin with https://.")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise invalid_setting("/config/endpoint", "An endpoint is written https://host:443, without a path.")
    try:
        check_target(endpoint, allowed_networks())
    except (InvalidRequest, RemoteFailed) as error:
        raise invalid_setting("/config/endpoint", str(error)) from error
