"""Real Postgres, Valkey and NATS from wheels, for `make up` and for the tests. See docs/adr/0006.

Imports no Django: it runs before there is a database to configure.
"""

from controlplane.local.errors import CannotStart
from controlplane.local.services import Services, start_services

__all__ = ["CannotStart", "Services", "start_services"]
