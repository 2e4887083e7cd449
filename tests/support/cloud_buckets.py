"""Buckets on loopback ports: S3 by moto, Google Cloud Storage by an emulator."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from controlplane.local.programs import free_port
from tests.support.moto import Moto
from tests.support.waiting import until

GCS_EMULATOR = os.environ.get("GCS_EMULATOR", "")


def put_in_s3(moto: Moto, bucket: str, name: str, content: bytes) -> None:
    client = moto.client("s3")
    if bucket not in {found["Name"] for found in client.list_buckets()["Buckets"]}:
        client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    client.put_object(Bucket=bucket, Key=name, Body=content)


class GcsEmulator:
    """endpoint: of its JSON API."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def make_bucket(self, bucket: str) -> None:
        self._post("storage/v1/b?project=test", json.dumps({"name": bucket}).encode(), "application/json")

    def put(self, bucket: str, name: str, content: bytes) -> None:
        path = f"upload/storage/v1/b/{bucket}/o?uploadType=media&name={quote(name, safe='')}"
        self._post(path, content, "application/octet-stream")

    def _post(self, path: str, body: bytes, content_type: str) -> None:
        headers = {"Content-Type": content_type}
        request = urllib.request.Request(f"{self.endpoint}/{path}", body, headers, method="POST")
        urllib.request.urlopen(request, timeout=10).close()


@contextmanager
def running_gcs(log: Path) -> Iterator[GcsEmulator]:
    port = free_port()
    with log.open("wb") as output:
        command = [GCS_EMULATOR, "start", f"--port={port}", "--host=127.0.0.1", "--in-memory"]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        endpoint = f"http://127.0.0.1:{port}"
        until(lambda: _answers(endpoint), 60, log.read_text)
        yield GcsEmulator(endpoint)
    finally:
        process.kill()
        process.wait()


def _answers(endpoint: str) -> bool:
    try:
        urllib.request.urlopen(f"{endpoint}/storage/v1/b?project=test", timeout=2).close()
    except OSError:
        return False
    return True
