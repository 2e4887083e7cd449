from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from controlplane.access.first_admin import ensure_admin
from controlplane.demo.seed import seed
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
        parser.add_argument("--demo", action="store_true", help="Load the demo data, once.")

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
        # Recorded with the data, so that deleted demo projects are not loaded again.
        marker = options["data_dir"] / "demo.loaded"
        if options["demo"] and not marker.exists():
            seed()
            marker.touch()
