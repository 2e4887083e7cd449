"""Connections to the SMTP server: a few are kept open, and each is used by one thread at a time."""

from __future__ import annotations

import smtplib
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings

_MOST_IDLE = 4
# Servers close idle connections after some minutes.
_IDLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """security: `starttls`, `tls` or `none`. username: empty for no login. seconds: for each step."""

    host: str
    port: int
    security: str
    username: str = ""
    password: str = ""
    ca_file: str = ""
    verifies: bool = True
    seconds: float = 20


def configured_server() -> SmtpServer:
    """Return the server of the settings."""
    return SmtpServer(
        settings.SMTP_HOST,
        settings.SMTP_PORT,
        settings.SMTP_SECURITY,
        settings.SMTP_USERNAME,
        settings.SMTP_PASSWORD,
        settings.SMTP_CA_FILE,
        settings.SMTP_VERIFY_TLS,
        settings.SMTP_TIMEOUT_SECONDS,
    )


class SmtpPool:
    """Idle connections to servers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[tuple[float, SmtpServer, smtplib.SMTP]] = []

    @contextmanager
    def connection(self, server: SmtpServer) -> Iterator[smtplib.SMTP]:
        """Lend a connection that is logged in. After an error it is closed. Raises OSError, SMTPException."""
        smtp = self._take(server) or connect(server)
        try:
            yield smtp
        except BaseException:
            smtp.close()
            raise
        self._give_back(server, smtp)

    def _take(self, server: SmtpServer) -> smtplib.SMTP | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                since, of_server, smtp = self._idle.pop()
            if of_server == server and time.monotonic() - since < _IDLE_SECONDS and _is_alive(smtp):
                return smtp
            smtp.close()

    def _give_back(self, server: SmtpServer, smtp: smtplib.SMTP) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append((time.monotonic(), server, smtp))
                return
        smtp.close()


def _is_alive(smtp: smtplib.SMTP) -> bool:
    try:
        return smtp.noop()[0] == 250
    except (OSError, smtplib.SMTPException):
        return False


def connect(server: SmtpServer) -> smtplib.SMTP:
    """Return a connection that is encrypted as set and logged in. Raises OSError, SMTPException."""
    context = _tls(server)
    if server.security == "tls":
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=server.seconds, context=context
        )
    else:
        smtp = smtplib.SMTP(server.host, server.port, timeout=server.seconds)
    try:
        if server.security == "starttls":
            # Raises if the server does not offer it: a password never goes without encryption.
            smtp.starttls(context=context)
        if server.username:
            smtp.login(server.username, server.password)
    except BaseException:
        smtp.close()
        raise
    return smtp


def _tls(server: SmtpServer) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=server.ca_file or None)
    if not server.verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
