"""Settings of notifications: SMTP, Slack, PagerDuty, and Flyte's own e-mail settings."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from controlplane.errors import ControlplaneError
from controlplane.notifications.flyte_emailer import FlyteEmailer, read_emailer
from controlplane.settings import environment as env

__all__ = [
    "FLYTE_EMAIL_BODY",
    "FLYTE_EMAIL_SUBJECT",
    "FLYTE_NOTIFICATIONS_FILE",
    "NOTIFICATIONS_PER_HOUR",
    "PAGERDUTY_URL",
    "SLACK_API_URL",
    "SMTP_CA_FILE",
    "SMTP_HOST",
    "SMTP_PASSWORD",
    "SMTP_PORT",
    "SMTP_SECURITY",
    "SMTP_SENDER",
    "SMTP_TIMEOUT_SECONDS",
    "SMTP_USERNAME",
    "SMTP_VERIFY_TLS",
]

FLYTE_NOTIFICATIONS_FILE = env.text(
    "FLYTE_NOTIFICATIONS_FILE",
    default="",
    meaning="File with Flyte's `notifications:` configuration (Helm: `workflow_notifications.config`). Its"
    " `emailer` has the defaults of SMTP_* and the templates of messages about Flyte's executions.",
)


def _load(path: str) -> FlyteEmailer:
    try:
        return read_emailer(Path(path).read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ImproperlyConfigured(f"FLYTE_NOTIFICATIONS_FILE cannot be read: {error}.") from error
    except ControlplaneError as error:
        raise ImproperlyConfigured(f"FLYTE_NOTIFICATIONS_FILE is invalid: {error}") from error


def _password(emailer: FlyteEmailer) -> str:
    if emailer.password_variable:
        return os.environ.get(emailer.password_variable, "")
    if not emailer.password_path:
        return ""
    try:
        return Path(emailer.password_path).read_text().strip()
    except OSError as error:
        # SMTP_PASSWORD may have it instead.
        if os.environ.get("SMTP_PASSWORD") or os.environ.get("SMTP_PASSWORD_FILE"):
            return ""
        message = f"The SMTP password that FLYTE_NOTIFICATIONS_FILE names cannot be read: {error}."
        raise ImproperlyConfigured(message) from error


_emailer = _load(FLYTE_NOTIFICATIONS_FILE) if FLYTE_NOTIFICATIONS_FILE else FlyteEmailer({})
FLYTE_EMAIL_SUBJECT, FLYTE_EMAIL_BODY = _emailer.subject, _emailer.body
if FLYTE_NOTIFICATIONS_FILE:
    env.FROM_FLYTE.update({**_emailer.settings, "SMTP_PASSWORD": _password(_emailer)})


def _security(raw: str) -> str:
    if raw not in ("starttls", "tls", "none"):
        raise ValueError("use starttls, tls or none")
    return raw


SMTP_HOST = env.text(
    "SMTP_HOST", default="", meaning="Server that takes e-mails. Without it, no e-mail can be sent."
)
SMTP_PORT = env.integer("SMTP_PORT", default=587, minimum=1, maximum=65_535, meaning="Port of SMTP_HOST.")
SMTP_SECURITY = env.parsed(
    "SMTP_SECURITY",
    _security,
    default="starttls",
    is_shown=True,
    meaning="`starttls` (required, never skipped), `tls` from the first byte, or `none` for trials.",
)
SMTP_USERNAME = env.text("SMTP_USERNAME", default="", meaning="User name at SMTP_HOST. Empty: no login.")
SMTP_PASSWORD = env.text("SMTP_PASSWORD", default="", meaning="Password at SMTP_HOST.")
SMTP_SENDER = env.text(
    "SMTP_SENDER", default="", meaning="Sender of e-mails, such as `Controlplane <alerts@example.com>`."
)
SMTP_CA_FILE = env.text(
    "SMTP_CA_FILE", default="", meaning="Certificates that sign SMTP_HOST's, instead of the system's."
)
SMTP_VERIFY_TLS = env.boolean(
    "SMTP_VERIFY_TLS", default=True, meaning="Whether SMTP_HOST's certificate is verified. Turn it off never."
)
SMTP_TIMEOUT_SECONDS = env.integer(
    "SMTP_TIMEOUT_SECONDS",
    default=20,
    minimum=1,
    maximum=60,
    meaning="How long SMTP_HOST may take for a step.",
)
SLACK_API_URL = env.text(
    "SLACK_API_URL", default="https://slack.com/api", meaning="Slack's Web API, or a proxy of it."
)
PAGERDUTY_URL = env.text(
    "PAGERDUTY_URL",
    default="https://events.pagerduty.com",
    meaning="PagerDuty's Events API. In the EU: https://events.eu.pagerduty.com.",
)
NOTIFICATIONS_PER_HOUR = env.integer(
    "NOTIFICATIONS_PER_HOUR",
    default=120,
    minimum=1,
    meaning="How many messages a principal may send by `POST /api/v1/notifications:send` in an hour.",
)
