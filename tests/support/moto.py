"""Moto's server: AWS' SNS and SQS on a loopback port. MOTO_SERVER: path of its program."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from botocore.session import Session

from tests.support.waiting import until

MOTO_SERVER = os.environ.get("MOTO_SERVER", "")
REGION = "eu-central-1"


class Moto:
    """endpoint: of all services."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def client(self, service: str) -> Any:
        """Return AWS' own client."""
        return Session().create_client(
            service,
            REGION,
            endpoint_url=self.endpoint,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def topic_with_queue(self, name: str, **attributes: str) -> tuple[str, str]:
        """Create a topic, and a queue that gets its messages; return ARN and URL."""
        sns, sqs = self.client("sns"), self.client("sqs")
        topic = sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]
        url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes={"RawMessageDelivery": "true"})
        return topic, url

    def messages(self, url: str) -> list[dict[str, Any]]:
        """Take all messages out of a queue, in its order."""
        sqs, messages = self.client("sqs"), []
        asked = {"MessageAttributeNames": ["All"], "AttributeNames": ["All"], "MaxNumberOfMessages": 10}
        while received := sqs.receive_message(QueueUrl=url, **asked).get("Messages"):
            for message in received:
                messages.append(message)
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return messages


@contextmanager
def running_moto(log: Path) -> Iterator[Moto]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as output:
        command = [MOTO_SERVER, "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        until(lambda: _listens(port), 120, log.read_text)
        yield Moto(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
