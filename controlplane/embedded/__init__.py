"""Real Postgres, Valkey and NATS from wheels, for `make up` and for the tests. See docs/adr/0006.

Imports no Django: it runs before there is a database to configure.
"""

from controlplane.embedded.services import Services, start_services

__all__ = ["Services", "start_services"]
