"""Buttons of Slack's messages. Slack has no token: its signature proves who sent the request."""

from __future__ import annotations

import time

import structlog
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from controlplane.errors import SecretsUnavailable
from controlplane.notifications import slack_buttons

log = structlog.get_logger(__name__)
_NO_STORE = {"Cache-Control": "no-store"}


@csrf_exempt  # The signature proves who sent it.
@require_POST
def slack_actions(request: HttpRequest) -> HttpResponse:
    """Acknowledge the alerts of a message: 200, or 401 without a valid signature of the message's channel."""
    press = slack_buttons.read_press(request.body)
    if press is None:
        # A button of somebody else. Slack shows an error to the person for anything but 200.
        return HttpResponse(status=200, headers=_NO_STORE)
    try:
        secret = slack_buttons.signing_secret_of(press.channel_id)
    except SecretsUnavailable:
        return HttpResponse(status=503, headers=_NO_STORE)
    is_signed = slack_buttons.is_signed(
        request.body,
        timestamp=request.headers.get("X-Slack-Request-Timestamp", ""),
        signature=request.headers.get("X-Slack-Signature", ""),
        secret=secret,
        now=time.time(),
    )
    if not is_signed:
        log.warning("slack_action.refused", channel=str(press.channel_id))
        return HttpResponse(status=401, headers=_NO_STORE)
    slack_buttons.acknowledge_press(press)
    return HttpResponse(status=200, headers=_NO_STORE)
