"""The forms of channels by kind, and the body of the API's request that each means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from console.form_fields import Input
from console.forms import parse_settings, split_words
from controlplane.delivery.models import Sink
from controlplane.errors import FieldError, InvalidRequest, MalformedBody
from controlplane.formats import strict_yaml
from controlplane.notifications.channel_changes import kind_of_channel

_ADDRESSES = {"placeholder": "oncall@example.com, lead@example.com"}


@dataclass(frozen=True, slots=True)
class ChannelForm:
    """Inputs of a kind. lists: those of `config` with several values, separated by commas."""

    config: tuple[Input, ...] = ()
    credentials: tuple[Input, ...] = ()
    lists: tuple[str, ...] = ()


def _secret(name: str, label: str, hint: str = "") -> Input:
    return Input(name, label, "password", hint, attributes={"maxlength": "8192"})


_FORMS = {
    "email": ChannelForm(
        config=(
            Input("to", "Recipients", hint="Separated by commas.", is_wide=True, attributes=_ADDRESSES),
            Input("cc", "Copies", is_wide=True, attributes={"placeholder": "none"}),
        ),
        lists=("to", "cc"),
    ),
    "slack": ChannelForm(
        config=(
            Input(
                "conversation",
                "Conversation",
                hint="Only with a bot token.",
                attributes={"maxlength": "80", "placeholder": "#on-call"},
            ),
        ),
        credentials=(
            _secret("bot_token", "Bot token", "Begins with xoxb-. The bot changes its messages in place."),
            _secret("signing_secret", "Signing secret", "Of the app; for the button Acknowledge."),
            _secret("webhook_url", "Incoming webhook", "Instead of a bot: its URL."),
        ),
    ),
    "pagerduty": ChannelForm(credentials=(_secret("routing_key", "Routing key", "Of an integration."),)),
    "webhook": ChannelForm(
        config=(
            Input(
                "url",
                "URL",
                "url",
                is_wide=True,
                attributes={"maxlength": "2000", "placeholder": "https://hooks.example.com/alerts"},
            ),
        )
    ),
}
# Of kinds without a form of their own.
_SETTINGS = Input("settings", "Configuration", "textarea", "YAML or JSON.", is_wide=True)
_SECRETS = Input("secrets", "Credentials", "secrets", "YAML or JSON, by name.", is_wide=True)
_OTHER = ChannelForm(config=(_SETTINGS,), credentials=(_SECRETS,))

NAME = Input("name", "Name", attributes={"maxlength": "63", "required": "required"})
TEAM = Input("team", "Team", attributes={"maxlength": "63", "placeholder": "default", "list": "teams"})
REASON = Input("reason", "Reason", attributes={"maxlength": "500"})


def form_for(kind: str) -> ChannelForm:
    """Return the form of a kind, or one with YAML if the kind has none."""
    return _FORMS.get(kind, _OTHER)


def has_form(kind: str) -> bool:
    return kind in _FORMS


def names_of(kind: str) -> tuple[str, ...]:
    """Return the names of all inputs."""
    own = form_for(kind)
    inputs = (NAME, TEAM, REASON, *own.config, *own.credentials)
    return (*(item.name for item in inputs), "version")


def form_of(channel: Sink) -> dict[str, str]:
    """Return what the form of an existing channel begins with: no credentials."""
    own = form_for(kind_of_channel(channel))
    form = {"name": channel.name, "version": str(channel.version), "settings": settings_text(channel)}
    for item in own.config:
        if item is not _SETTINGS:
            value = channel.config.get(item.name, "")
            form[item.name] = ", ".join(value) if item.name in own.lists else str(value)
    return form


def settings_text(channel: Sink) -> str:
    """Return the configuration as YAML; empty without one."""
    if not channel.config:
        return ""
    return str(yaml.safe_dump(channel.config, sort_keys=False, allow_unicode=True))


def body_of(kind: str, form: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of a PUT. Without credentials in the form, it has none: they stay."""
    own = form_for(kind)
    credentials = _credentials(own, form)
    return {
        "name": form.get("name", "").strip(),
        "kind": kind,
        "config": _config(own, form),
        **({"credentials": credentials} if credentials else {}),
    }


def _config(own: ChannelForm, form: Mapping[str, str]) -> Any:
    if own is _OTHER:
        return parse_settings(form.get(_SETTINGS.name, ""))
    texts = {item.name: form.get(item.name, "").strip() for item in own.config}
    return {name: split_words(text) if name in own.lists else text for name, text in texts.items() if text}


def _credentials(own: ChannelForm, form: Mapping[str, str]) -> Any:
    if own is not _OTHER:
        texts = {item.name: form.get(item.name, "").strip() for item in own.credentials}
        return {name: text for name, text in texts.items() if text}
    text = form.get(_SECRETS.name, "")
    try:
        return strict_yaml.load(text) if text.strip() else {}
    except MalformedBody:
        # Errors of the parser quote the text, which is secret.
        message = "The credentials are neither YAML nor JSON. Use lines such as name: value."
        raise InvalidRequest(message, errors=[FieldError("/secrets", "malformed", message)]) from None
