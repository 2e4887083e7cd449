"""Flyte's settings of notification e-mails, as its Helm chart and ConfigMap have them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.errors import FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from controlplane.notifications.templates import check_template

_SENDGRID = {"SMTP_HOST": "smtp.sendgrid.net", "SMTP_PORT": "587", "SMTP_USERNAME": "apikey"}


@dataclass(frozen=True, slots=True)
class FlyteEmailer:
    """settings: values of our settings by name. subject, body: templates with Flyte's variables.

    password_path, password_variable: where the SMTP password or SendGrid's API key is, or empty.
    """

    settings: Mapping[str, str]
    subject: str = ""
    body: str = ""
    password_path: str = ""
    password_variable: str = ""


def read_emailer(text: str) -> FlyteEmailer:
    """Return the e-mail settings of a document with `notifications:`, or with its content.

    Raises InvalidRequest if it cannot be read, and for unknown variables in its templates.
    """
    document = strict_yaml.load(text)
    if not isinstance(document, Mapping):
        raise _error("", "The file must have a mapping with `notifications:`.")
    for outer in ("workflow_notifications", "config", "notifications"):
        inner = document.get(outer)
        document = inner if isinstance(inner, Mapping) else document
    emailer = document.get("emailer")
    emailer = emailer if isinstance(emailer, Mapping) else {}
    server = emailer.get("emailServerConfig")
    server = server if isinstance(server, Mapping) else {}
    subject, body = str(emailer.get("subject") or ""), str(emailer.get("body") or "")
    check_template(subject, "/emailer/subject", ())
    check_template(body, "/emailer/body", ())
    return FlyteEmailer(
        {**_server_settings(server), **_non_empty(SMTP_SENDER=emailer.get("sender"))},
        subject,
        body,
        _password_path(server),
        str(server.get("apiKeyEnvVar") or ""),
    )


def _server_settings(server: Mapping[str, Any]) -> dict[str, str]:
    service = str(server.get("serviceName") or "").lower()
    if service == "sendgrid":
        return dict(_SENDGRID)
    if service not in ("", "smtp"):
        message = f"{service!r} is no e-mail service that can be used. Use smtp or sendgrid."
        raise _error("/emailer/emailServerConfig/serviceName", message)
    skips = server.get("smtpSkipTLSVerify")
    return _non_empty(
        SMTP_HOST=server.get("smtpServer"),
        SMTP_PORT=server.get("smtpPort"),
        SMTP_USERNAME=server.get("smtpUsername"),
        SMTP_VERIFY_TLS="false" if skips in (True, "true") else "",
    )


def _password_path(server: Mapping[str, Any]) -> str:
    """Return the file with the password. Flyte mounts its secrets in /etc/secrets."""
    if server.get("apiKeyFilePath"):
        return str(server["apiKeyFilePath"])
    name = server.get("smtpPasswordSecretName")
    return f"/etc/secrets/{name}" if name else ""


def _non_empty(**values: Any) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value not in (None, "")}


def _error(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, "invalid", message)])
