"""Services for which there is no kind of their own, such as Microsoft Teams and ntfy, through apprise."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings

from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting
from controlplane.delivery.schedule import Answer, Result
from controlplane.errors import InvalidRequest, RemoteFailed
from controlplane.extras import is_installed
from controlplane.notifications.channels import apprise_client
from controlplane.notifications.channels.registry import Channel, register_channel
from controlplane.notifications.channels.service_addresses import Parts
from controlplane.notifications.channels.service_texts import words
from controlplane.notifications.channels.services import SERVICES, Part, Service
from controlplane.notifications.event_types import Step
from controlplane.outgoing import allowed_networks, check_target

_HIDDEN = "…"
# Within a relay's lease, with time to settle.
_MOST_SECONDS = 50
_LEVELS = {"info": "info", "warning": "warning", "critical": "failure"}
_MISSING = "This installation cannot send to other services. Install controlplane[apprise]."


@dataclass(frozen=True, slots=True)
class OtherService:
    """A service with the parts of its address. secrets: those that no answer may show."""

    service: Service
    parts: Parts
    secrets: Sequence[str]

    def send(self, message: Message) -> Sent:
        began = time.monotonic()
        data = message.event.data
        plugin = apprise_client.open_plugin(
            *self.service.plugin, self.service.address(self.parts, message.key)
        )
        if plugin is None:
            return Sent(Answer(Result.CLIENT_ERROR, error="apprise refuses the channel's settings."))
        title, text = words(data, self.service.style, self.service.most)
        level = _LEVELS.get(data["severity"], "warning") if data["firing"] else "success"
        seconds = min(settings.WEBHOOK_TIMEOUT_SECONDS, _MOST_SECONDS)
        made = apprise_client.send_note(plugin, title, text, level, seconds=seconds)
        milliseconds = round(1000 * (time.monotonic() - began))
        answer = replace(made.answer, error=self._shown(made.answer.error), milliseconds=milliseconds)
        return Sent(answer, response=self._shown(made.response), tls=made.tls)

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    def _shown(self, text: str) -> str:
        """Return the text without secrets, which a receiver can repeat."""
        for secret in self.secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    service = SERVICES.get(str(config.get("service", "")))
    if service is None:
        raise invalid_setting("/config/service", f"Choose a service: {', '.join(SERVICES)}.")
    _check_names(config, credentials, service)
    _check_parts("/config", service.config, config)
    _check_parts("/credentials", service.credentials, credentials)
    parts = parts_of(service, config, credentials)
    if "host" in service.config:
        _check_host(parts)
    if not is_installed("apprise"):
        raise invalid_setting("/kind", _MISSING)
    if apprise_client.open_plugin(*service.plugin, service.address(parts, "check")) is None:
        raise invalid_setting("/credentials", f"apprise refuses these settings of {config['service']}.")


def _check_names(config: Mapping[str, Any], credentials: Mapping[str, str], service: Service) -> None:
    known = {"service", *service.config, *({"tls"} if service.has_tls_choice else ())}
    for name in config.keys() - known:
        raise invalid_setting(f"/config/{name}", f"{config['service']} has no setting {name}.")
    for name in credentials.keys() - service.credentials.keys():
        message = f"{config['service']} has these credentials: {', '.join(service.credentials)}."
        raise invalid_setting(f"/credentials/{name}", message)
    if config.get("tls") is False and not settings.WEBHOOK_ALLOW_HTTP:
        raise invalid_setting("/config/tls", "Messages go out with TLS only. Leave `tls` out.")


def _check_parts(pointer: str, known: Mapping[str, Part], given: Mapping[str, Any]) -> None:
    """Raise InvalidRequest without the value, which can be a secret."""
    for name, part in known.items():
        value = str(given.get(name, ""))
        if not value and part.is_optional:
            continue
        if not value or not part.accepts(value):
            raise invalid_setting(f"{pointer}/{name}", f"`{name}` must be {part.form}.")


def parts_of(service: Service, config: Mapping[str, Any], credentials: Mapping[str, str]) -> Parts:
    """Return the parts of the address. Raises InvalidRequest for another service's URL."""
    parts = {name: str(config.get(name, "") or part.default) for name, part in service.config.items()}
    parts |= {name: credentials.get(name, "") for name in service.credentials}
    parts["tls"] = "no" if config.get("tls") is False else "yes"
    if service.split is None:
        return parts
    split = service.split(credentials.get("webhook_url", ""))
    if split is None:
        form = service.credentials["webhook_url"].form
        raise invalid_setting("/credentials/webhook_url", f"`webhook_url` must be {form}.")
    return {**parts, **split}


def _check_host(parts: Parts) -> None:
    """Raise InvalidRequest for a host that is unknown or has an address that is not allowed."""
    scheme = "http" if parts["tls"] == "no" else "https"
    try:
        check_target(f"{scheme}://{parts['host']}", allowed_networks())
    except (InvalidRequest, RemoteFailed) as error:
        raise invalid_setting("/config/host", str(error)) from error


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> OtherService:
    if not is_installed("apprise"):
        raise invalid_setting("/kind", _MISSING)
    service = SERVICES[config["service"]]
    parts = parts_of(service, config, secrets.credentials)
    return OtherService(service, parts, _secrets(service, parts))


def _secrets(service: Service, parts: Parts) -> list[str]:
    """Return the parts that are no settings, the longest first; in pieces too, which stay when quoted."""
    wholes = {value for name, value in parts.items() if name not in {*service.config, "tls"}}
    pieces = {piece for whole in wholes for piece in re.split(r"[/:=]", whole)}
    return sorted((text for text in wholes | pieces if len(text) > 3), key=len, reverse=True)


def _steps(config: Mapping[str, Any]) -> frozenset[Step]:
    """Return beginning and end: these services cannot change a message."""
    return frozenset({Step.TRIGGER, Step.RESOLVE})


def _holder(config: Mapping[str, Any]) -> str:
    """Return the server that gets the credentials, and how."""
    return f"{config.get('service')} {config.get('host', '')} {config.get('tls', True)}"


CHANNEL = register_channel(Channel("other", SinkKind("other", _check, _open), _steps, holder=_holder))
