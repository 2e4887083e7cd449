"""A real NATS with fresh streams, and quick loops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings

from controlplane.messaging.nats import NatsConnection
from registry.dispatch.delivery import monitor
from registry.dispatch.inbound import consuming
from tests.support.agents_over_nats import empty_streams


@pytest.fixture(scope="session")
def nats_connection() -> Iterator[NatsConnection]:
    with NatsConnection(settings.NATS_URL, name="tests") as connection:
        assert connection.wait_connected(10)
        yield connection


@pytest.fixture
def nats(nats_connection: NatsConnection, transactional_db: None) -> NatsConnection:
    empty_streams(nats_connection)
    return nats_connection


@pytest.fixture(autouse=True)
def _quick_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consuming, "_FETCH_SECONDS", 0.2)
    monkeypatch.setattr(consuming, "_ABSENT_SECONDS", 0.1)
    monkeypatch.setattr(consuming, "_AGAIN_SECONDS", 0.1)
    monkeypatch.setattr(monitor, "_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(monitor, "_PURGE_SECONDS", 0.05)
