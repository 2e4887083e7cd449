"""Slack: by an incoming webhook, or by a bot's token, which changes messages in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from django.conf import settings

from controlplane.delivery.https_exchange import Exchange, exchange
from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting
from controlplane.delivery.schedule import Answer, Result
from controlplane.errors import InvalidRequest
from controlplane.notifications.channels.registry import ALL_STEPS, Channel, register_channel
from controlplane.notifications.event_types import Step
from controlplane.outgoing import allowed_networks, check_target

ACKNOWLEDGE = "controlplane_acknowledge"
_MOST_HEADER, _MOST_SECTION = 150, 2_900
_MARKS = {"info": "\N{INFORMATION SOURCE}", "warning": "\N{WARNING SIGN}", "critical": "\N{LARGE RED CIRCLE}"}
_DONE = "\N{WHITE HEAVY CHECK MARK}"
# Errors after which the same request can succeed.
_PASSING = frozenset(
    {"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})


@dataclass(frozen=True, slots=True)
class IncomingWebhook:
    """An incoming webhook: messages cannot be changed, so the end of an alert is another message."""

    url: str

    def send(self, message: Message) -> Sent:
        answered = _post(self.url, {"text": _fallback(message), "blocks": blocks_of(message)}, "")
        return Sent(answered.answer, _HEADERS, answered.response, answered.tls)

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot in a conversation. has_button: whether messages have a button that acknowledges."""

    token: str
    conversation: str
    has_button: bool = False

    def send(self, message: Message) -> Sent:
        conversation, _, timestamp = message.reference.partition("/")
        if not timestamp:
            return self._call("chat.postMessage", self.conversation, message)
        sent = self._call("chat.update", conversation, message, ts=timestamp)
        if sent.answer.error in _GONE:
            # Somebody has deleted the message.
            return self._call("chat.postMessage", self.conversation, message)
        return sent

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    def _call(self, method: str, conversation: str, message: Message, **more: str) -> Sent:
        blocks = blocks_of(message, has_button=self.has_button)
        content = {"channel": conversation, "text": _fallback(message), "blocks": blocks, **more}
        answered = _post(f"{settings.SLACK_API_URL.rstrip('/')}/{method}", content, self.token)
        if answered.answer.result is not Result.DELIVERED:
            return Sent(answered.answer, _HEADERS, answered.response, answered.tls)
        answer, reference = read_answer(answered.answer, answered.body)
        return Sent(answer, _HEADERS, answered.response, answered.tls, reference)


_HEADERS = {"Content-Type": "application/json; charset=utf-8"}


def _post(url: str, content: Mapping[str, Any], token: str) -> Exchange:
    headers = {**_HEADERS, **({"Authorization": f"Bearer {token}"} if token else {})}
    return exchange(url, msgspec.json.encode(content), headers, seconds=settings.WEBHOOK_TIMEOUT_SECONDS)


def read_answer(answer: Answer, body: bytes) -> tuple[Answer, str]:
    """Return what an answer with status 200 means, and the message's reference (`conversation/timestamp`)."""
    try:
        content = msgspec.json.decode(body)
    except msgspec.DecodeError:
        content = None
    if not isinstance(content, dict):
        return replace(answer, result=Result.SERVER_ERROR, error="Slack's answer is no JSON object."), ""
    if content.get("ok") is True:
        return answer, f"{content.get('channel', '')}/{content.get('ts', '')}"
    error = str(content.get("error", "unknown_error"))
    result = Result.SERVER_ERROR if error in _PASSING else Result.CLIENT_ERROR
    return replace(answer, result=result, error=error), ""


def blocks_of(message: Message, *, has_button: bool = False) -> list[dict[str, Any]]:
    """Return the message in Block Kit: a header, the text, and a button while something is firing."""
    data = message.event.data
    header = {"type": "plain_text", "text": _headline(data)[:_MOST_HEADER]}
    section = {"type": "mrkdwn", "text": escape(data["text"][:_MOST_SECTION]) or " "}
    blocks: list[dict[str, Any]] = [{"type": "header", "text": header}, {"type": "section", "text": section}]
    # Notes that others send have no alerts.
    if has_button and data["total"] and data["firing"] and data["step"] != Step.ACKNOWLEDGE:
        button = {
            "type": "button",
            "text": {"type": "plain_text", "text": "Acknowledge"},
            "action_id": ACKNOWLEDGE,
            "value": f"{data['channel']}/{data['message']}",
        }
        blocks.append({"type": "actions", "elements": [button]})
    return blocks


def _headline(data: Mapping[str, Any]) -> str:
    mark = _MARKS.get(data["severity"], "") if data["firing"] else _DONE
    return f"{mark} {data['subject']}"


def _fallback(message: Message) -> str:
    return escape(_headline(message.event.data))


def escape(text: str) -> str:
    """Escape Slack's three control characters, so that values make no links and mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    url, token = credentials.get("webhook_url", ""), credentials.get("bot_token", "")
    if bool(url) == bool(token):
        raise invalid_setting(
            "/credentials", "A Slack channel needs either `webhook_url` or `bot_token`, and not both."
        )
    if token and not config.get("conversation"):
        raise invalid_setting(
            "/config/conversation", "With `bot_token`, name a conversation, such as #alerts."
        )
    if url and config.get("conversation"):
        raise invalid_setting(
            "/config/conversation", "An incoming webhook has its own conversation. Leave this one out."
        )
    if url and not url.startswith("https://") and not settings.WEBHOOK_ALLOW_HTTP:
        raise invalid_setting("/credentials/webhook_url", "The URL must begin with https://.")
    if url:
        try:
            check_target(url, allowed_networks())
        except InvalidRequest as error:
            raise invalid_setting("/credentials/webhook_url", str(error)) from error


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> IncomingWebhook | Bot:
    credentials = secrets.credentials
    if credentials.get("webhook_url"):
        return IncomingWebhook(credentials["webhook_url"])
    return Bot(
        credentials.get("bot_token", ""),
        config.get("conversation", ""),
        bool(credentials.get("signing_secret")),
    )


def _steps(config: Mapping[str, Any]) -> frozenset[Step]:
    """Return all steps for a bot; without one, changes would be new messages each."""
    return ALL_STEPS if config.get("conversation") else frozenset({Step.TRIGGER, Step.RESOLVE})


CHANNEL = register_channel(Channel("slack", SinkKind("slack", _check, _open), _steps))
