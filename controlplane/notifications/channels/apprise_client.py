"""apprise as a library of what services want to be sent: its requests go through our guarded exchange.

Plugins call functions of `requests`. They get ours, which connect to a checked address, follow no redirect,
and end with the attempt. apprise logs addresses and bodies with secrets: its log is off.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

from controlplane.delivery.https_exchange import Exchange, exchange
from controlplane.delivery.schedule import Answer, Result

_METHODS = frozenset({"get", "post", "put", "delete"})
# What plugins take from `requests` besides: names of statuses and errors.
_NAMES = frozenset({"codes", "exceptions", "RequestException", "TooManyRedirects"})
# Of one message: Matrix asks who it is, joins a room and sends.
_MOST_REQUESTS = 6
_ASK_LATER = 429


@dataclass(slots=True)
class Attempt:
    """The requests of one attempt. seconds: for all of them. until: of time.monotonic()."""

    seconds: float
    until: float
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """True if the receiver asked to wait, or a plugin has asked enough."""
        is_asked_to_wait = any(one.answer.status == _ASK_LATER for one in self.exchanges)
        return is_asked_to_wait or len(self.exchanges) >= _MOST_REQUESTS


_attempt: ContextVar[Attempt] = ContextVar("apprise_attempt")


def open_plugin(module: str, name: str, address: str) -> Any:
    """Return apprise's plugin for an address, or None if it refuses the address. Asks no server."""
    logging.getLogger("apprise").disabled = True
    loaded = import_module(f"apprise.plugins.{module}")
    plugin_class = getattr(loaded, name)
    # Fails for a plugin that does not use it, such as one of another version.
    if not isinstance(loaded.requests, GuardedRequests):
        loaded.__dict__["requests"] = GuardedRequests(import_module("requests"))
    try:
        parsed = plugin_class.parse_url(address)
        plugin = plugin_class(**parsed, asset=_asset()) if parsed else None
    except (TypeError, ValueError, AttributeError, IndexError):
        # Their texts have secrets. AppriseImproperlyConfigured is a TypeError.
        return None
    if plugin is not None:
        plugin.throttle = _refuse_to_wait
    return plugin


def send_note(plugin: Any, title: str, text: str, level: str, *, seconds: float) -> Exchange:
    """Send by the plugin, and return what came of it. seconds: for all requests of it."""
    from apprise import NotifyFormat, NotifyType

    with _attempted(seconds) as attempt:
        try:
            is_sent = plugin.notify(
                body=text, title=title, notify_type=NotifyType(level), body_format=NotifyFormat.TEXT
            )
        except Exception as error:  # Texts of a plugin's errors can have secrets.
            is_sent = False
            if not attempt.exchanges:
                failure = f"apprise could not send the message ({type(error).__name__})."
                return Exchange(Answer(Result.INTERNAL, error=failure))
    return outcome(attempt.exchanges, is_sent=bool(is_sent))


def outcome(exchanges: list[Exchange], *, is_sent: bool) -> Exchange:
    """Return the exchange that decided, which is the last one that failed if nothing was sent. Pure."""
    if not exchanges:
        return Exchange(Answer(Result.INTERNAL, error="apprise made no request for the message."))
    failed = [one for one in exchanges if one.answer.result is not Result.DELIVERED]
    if not is_sent and failed:
        return failed[-1]
    last = exchanges[-1]
    if is_sent:
        return Exchange(Answer(Result.DELIVERED, last.answer.status), last.response, last.tls)
    error = "The receiver's answer does not confirm the message."
    return Exchange(Answer(Result.SERVER_ERROR, last.answer.status, error=error), last.response, last.tls)


@contextmanager
def _attempted(seconds: float) -> Iterator[Attempt]:
    attempt = Attempt(seconds, time.monotonic() + seconds)
    token = _attempt.set(attempt)
    try:
        yield attempt
    finally:
        _attempt.reset(token)


class GuardedRequests:
    """What plugins of apprise get in the place of the module `requests`."""

    def __init__(self, requests: Any) -> None:
        self._requests = requests

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return partial(self._request, name.upper())
        if name in _NAMES:
            return getattr(self._requests, name)
        raise AttributeError(f"Plugins of apprise may not use requests.{name}.")

    def _request(self, method: str, url: str, **terms: Any) -> Any:
        """Make the request by our own exchange. Raises requests.RequestException."""
        attempt = _attempt.get(None)
        if attempt is None or attempt.is_over:
            raise self._requests.RequestException("There is no attempt for this request.")
        given = {name: terms.get(name) for name in ("data", "params", "headers", "auth")}
        prepared = self._requests.Request(method, url, **given).prepare()
        body = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body or b""
        left = max(0.0, attempt.until - time.monotonic())
        made = exchange(prepared.url, body, dict(prepared.headers), seconds=left, method=method)
        if made.answer.result is Result.TIMEOUT:
            late = f"The receiver did not answer within {attempt.seconds:g} s."
            made = replace(made, answer=replace(made.answer, error=late))
        attempt.exchanges.append(made)
        if not made.answer.status:
            raise self._requests.ConnectionError("The request failed.")
        return self._response(prepared, made)

    def _response(self, prepared: Any, made: Exchange) -> Any:
        response = self._requests.Response()
        response.status_code, response._content = made.answer.status, made.body
        response.request, response.encoding = prepared, "utf-8"
        return response


def _refuse_to_wait(last_io: Any = None, wait: float | None = None) -> None:
    """Stand in for a plugin's pauses: the schedule of deliveries decides when to try again."""
    if wait:
        raise OSError("The receiver asks to wait.")


def _asset() -> Any:
    from apprise import AppriseAsset

    return AppriseAsset(app_id="Controlplane", app_desc="Controlplane", app_url="", plugin_paths=None)
