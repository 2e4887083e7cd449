from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from controlplane.access.first_admin import ensure_admin
from controlplane.demo.seed import is_empty, seed
from controlplane.local.demo_record import DemoRecord, read_record, write_record
from controlplane.web.health import CHECKS, passes
from overrides.file_source.synchronise import synchronise

_SETTINGS = {
    "postgres": "DATABASE_URL",
    "migrations": "DATABASE_URL",
    "writable": "DATABASE_URL",
    "valkey": "REDIS_URL",
    "nats": "NATS_URL",
}


class Command(BaseCommand):
    help = "Prepare a database for `make up`: tables, administrator and demo data."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--data-dir", type=Path, required=True, help="Folder for the administrator's secrets."
        )
        parser.add_argument(
            "--demo",
            type=int,
            default=0,
            metavar="PORT",
            help="Load the demo data, once. The demo receives its webhooks at this port.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except OperationalError as error:
            raise CommandError(f"Cannot use the database in DATABASE_URL: {str(error).strip()}") from error
        failed = [_SETTINGS[check.name] for check in CHECKS if not passes(check)]
        if failed:
            raise CommandError(
                f"No response from the service in {' and '.join(failed)}. Start it, or correct the setting."
            )
        ensure_admin(options["data_dir"])
        synchronise()
        if options["demo"]:
            _load_demo(options["data_dir"], options["demo"])


def _load_demo(folder: Path, receiver_port: int) -> None:
    """Load the demo, once, and only if nobody has put anything into the installation yet."""
    # Recorded with the data, so that deleted demo projects are not loaded again.
    if read_record(folder) is None and is_empty() and seed():
        write_record(folder, DemoRecord(tells=True, receiver_port=receiver_port))
