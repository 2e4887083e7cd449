"""SNS and Pub/Sub on a loopback port, by the protocols of their clouds, with what tests look at."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from controlplane.delivery.pubsub_sinks import PUBSUB
from controlplane.delivery.sns_sinks import SNS
from tests.support.api_client import Api, token_for
from tests.support.webhook_receiver import Received, Receiver, Reply, running_receiver

TOPIC = "arn:aws:sns:eu-central-1:123456789012:events"
PUBSUB_TOPIC = {"project": "my-project", "topic": "events"}
BOTH = [(SNS, {"topic_arn": TOPIC, "region": "eu-central-1"}), (PUBSUB, PUBSUB_TOPIC)]
_CONFIRMED = (
    b'<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult>'
    b"<MessageId>94f20ce6-13c5-43a0-9a9e-ca52d816e90b</MessageId></PublishResult></PublishResponse>"
)


class Topics:
    """endpoint: of both. receiver: has the requests, and answers as a test wants."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        parts = urlsplit(receiver.url)
        self.endpoint = f"{parts.scheme}://{parts.netloc}"
        receiver.reply = confirm

    @property
    def to_sns(self) -> list[dict[str, str]]:
        """Parameters of the requests to SNS."""
        requests = [one for one in self.receiver.received if one.path == "/"]
        return [{name: value[0] for name, value in parse_qs(one.body.decode()).items()} for one in requests]

    @property
    def to_pubsub(self) -> list[dict[str, Any]]:
        """Messages that were published at Pub/Sub."""
        requests = [one for one in self.receiver.received if one.path.endswith(":publish")]
        return [message for one in requests for message in json.loads(one.body)["messages"]]


@contextmanager
def running_topics() -> Iterator[Topics]:
    with running_receiver() as receiver:
        yield Topics(receiver)


def confirm(request: Received) -> Reply:
    """Answer as a topic that stores the message."""
    if request.path == "/token":
        token = {"access_token": "token-of-a-test", "expires_in": 3600, "token_type": "Bearer"}
        return Reply(body=json.dumps(token).encode(), headers={"Content-Type": "application/json"})
    return Reply(body=_CONFIRMED if request.path == "/" else b'{"messageIds": ["1"]}')


def sns_error(status: int, code: str, message: str = "x &amp; y") -> Reply:
    error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    xmlns = 'xmlns="http://sns.amazonaws.com/doc/2010-03-31/"'
    return Reply(status, body=f"<ErrorResponse {xmlns}>{error}</ErrorResponse>".encode())


def google_error(status: int, name: str, message: str = "x") -> Reply:
    error = {"error": {"code": status, "message": message, "status": name}}
    return Reply(status, body=json.dumps(error, indent=2).encode())


def is_signed_by(request: Received, secret: str) -> bool:
    """Verify a request to AWS without AWS' library (Signature Version 4)."""
    _, credential, names, signature = request.headers["authorization"].replace(",", "").split()
    scope = credential.split("/", 1)[1]
    names = names.removeprefix("SignedHeaders=")
    head = "".join(f"{name}:{request.headers[name]}\n" for name in names.split(";"))
    canonical = f"POST\n{request.path}\n\n{head}\n{names}\n{sha256(request.body).hexdigest()}"
    moment = request.headers["x-amz-date"]
    to_sign = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    return signature == f"Signature={key.hex()}"


def service_account(path: Path, token_uri: str) -> Path:
    """Write the file of a Google service account whose tokens come from there."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "type": "service_account",
        "project_id": "my-project",
        "private_key_id": "1",
        "private_key": pem.decode(),
        "client_email": "relay@my-project.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }
    path.write_text(json.dumps(account))
    return path


def create_sink_of(kind: str, config: dict[str, Any], **body: Any) -> Any:
    """Create a sink by HTTP, as an administrator."""
    chosen = {"name": kind, "kind": kind, "config": config, "filter": {"types": ["thing.*"]}}
    return Api(token_for("admin")).post("sinks", {**chosen, **body})
