from argparse import ArgumentParser
from dataclasses import fields
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection

from controlplane.cluster.connections import Demand, Processes, Threads, demand, needed_at_postgres
from controlplane.management.relay_loops import LOOPS

# For psql, backups, migrations and the superuser.
_RESERVE = 10
_LINE = "{:<12}{:>10}{:>10}"


class Command(BaseCommand):
    help = "Show how many connections to Postgres an installation needs, and compare them with its limit."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        for field in fields(Processes):
            name = "--" + field.name.replace("_", "-")
            parser.add_argument(name, type=int, default=field.default, help=f"Default: {field.default}.")
        parser.add_argument(
            "--pool-size", type=int, help="Connections of the pooler to Postgres, if DATABASE_POOLER is set."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        processes = Processes(**{field.name: options[field.name] for field in fields(Processes)})
        rows = demand(processes, _threads())
        self.stdout.write(_LINE.format("process", "pooled", "direct"))
        for row in [*rows, _total(rows)]:
            self.stdout.write(_LINE.format(row.process, row.pooled, row.direct))
        needed = needed_at_postgres(rows, options["pool_size"]) + _RESERVE
        allowed = _allowed()
        self.stdout.write(f"Postgres: {needed} needed ({_RESERVE} in reserve), {allowed} allowed.")
        if needed > allowed:
            raise CommandError(
                f"max_connections is {allowed}, and {needed} are needed. Raise max_connections, lower the"
                " numbers above, or use a pooler (docs/operations.md, PgBouncer)."
            )


def _threads() -> Threads:
    return Threads(
        # One more reads figures for /metrics.
        web=settings.WEB_THREADS + 1,
        heartbeats=settings.HEARTBEAT_CONNECTIONS,
        joins=2 if settings.JOINS_AT_ONCE else 0,
        fast_reads=1 if settings.EFFECTIVE_SNAPSHOT_MIB else 0,
        config_polls=settings.CONFIG_POLL_CONNECTIONS,
        flyte_grpc=settings.FLYTE_GRPC_THREADS,
        relay=len(LOOPS),
        samples=1 if settings.DATABASE_ROUTERS else 0,
    )


def _total(rows: list[Demand]) -> Demand:
    return Demand("total", sum(row.pooled for row in rows), sum(row.direct for row in rows))


def _allowed() -> int:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('max_connections')::int")
            return int(cursor.fetchone()[0])
    except Error as error:
        raise CommandError(f"Cannot ask Postgres for its limit: {str(error).strip()}") from error
