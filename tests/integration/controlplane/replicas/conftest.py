"""Django with a replica: only in the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection, connections, router

from controlplane.local import Services
from controlplane.replicas.asking import PAUSE
from controlplane.replicas.reading import REPLICA
from controlplane.replicas.router import ReplicaRouter
from controlplane.replicas.samples import SAMPLER
from tests.support.standby import Standby

MIDDLEWARE = "controlplane.api.position_header.PositionMiddleware"


@pytest.fixture(scope="package")
def standby(services: Services, django_db_setup: None) -> Iterator[Standby]:
    """A standby that Django knows as `replica`, as DATABASE_REPLICA_URL makes it."""
    server = Standby(services.environment["DATABASE_URL"])
    primary = connection.settings_dict
    # A mirror: tests neither make nor empty it.
    test = {**primary["TEST"], "MIRROR": "default"}
    connections.settings[REPLICA] = {**primary, "HOST": str(server.folder), "TEST": test}
    yield server
    del connections.settings[REPLICA]
    server.stop()


@pytest.fixture
def replica(standby: Standby, db: None, settings) -> Iterator[Standby]:
    """The standby, with the router and the middleware of an installation with replicas."""
    settings.MIDDLEWARE = [MIDDLEWARE, *settings.MIDDLEWARE]
    routers, router.routers = router.routers, [ReplicaRouter()]
    # As in an installation. The Postgres of the tests would write the log up to 0.6 s later.
    connection.cursor().execute("SET synchronous_commit = on")
    try:
        yield standby
    finally:
        SAMPLER.stop()
        PAUSE.succeed()
        connection.cursor().execute("RESET synchronous_commit")
        connections[REPLICA].close()
        del connections[REPLICA]
        router.routers = routers
