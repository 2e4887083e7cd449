from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.streams import record, set_up, specs
from tests.support.nats_server import OwnNats


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnNats]:
    """A NATS server of this test alone."""
    server = OwnNats(tmp_path / "nats")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def nats(server: OwnNats) -> Iterator[NatsConnection]:
    with NatsConnection(server.url, name="test") as connection:
        assert connection.wait_connected(5)
        yield connection


@pytest.fixture
def streams(nats: NatsConnection, db: None) -> None:
    """The streams, set up and recorded."""
    record([set_up(nats, spec) for spec in specs()])
