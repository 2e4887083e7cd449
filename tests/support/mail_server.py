"""An SMTP server on a loopback port that demands STARTTLS and a login, and records what it accepts."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controlplane.local.programs import free_port

USER, PASSWORD = b"controlplane", b"mail-secret"


@dataclass(slots=True)
class MailServer:
    """refused: recipients that the server does not have. logins: how many there were."""

    port: int
    ca_file: Path
    received: list[EmailMessage] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    logins: int = 0

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address in self.refused:
            return "550 5.1.1 No such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        assert [mail["To"]] == envelope.rcpt_tos
        self.received.append(mail)
        return "250 Accepted"

    def check(self, server: SMTP, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        is_right = isinstance(data, LoginPassword) and (data.login, data.password) == (USER, PASSWORD)
        self.logins += is_right
        return AuthResult(success=is_right, handled=False)


class _Controller(Controller):
    def factory(self) -> SMTP:
        server: MailServer = self.handler
        return SMTP(server, authenticator=server.check, **self.SMTP_kwargs)


@contextmanager
def running_mail_server(folder: Path) -> Iterator[MailServer]:
    server = MailServer(free_port(), _certificate(folder))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.ca_file, folder / "key.pem")
    controller = _Controller(
        server,
        hostname="127.0.0.1",
        port=server.port,
        tls_context=context,
        require_starttls=True,
        auth_required=True,
    )
    controller.start()
    try:
        yield server
    finally:
        controller.stop()


def _certificate(folder: Path) -> Path:
    """Write a certificate of 127.0.0.1 that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail.test")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    builder = builder.add_extension(address, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    no_encryption = serialization.NoEncryption()
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(key.private_bytes(pem, pkcs8, no_encryption))
    path = folder / "certificate.pem"
    path.write_bytes(certificate.public_bytes(pem))
    return path
