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
    "valkey": "REDIS_URL",
    "nats": "NATS_URL",
}


class Command(BaseCommand):
    help = "Make a database ready: tables, administrator, demo. One process for all of `make up`'s steps."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data-dir", type=Path, required=True)
        parser.add_argument("--demo", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except OperationalError as error:
            raise CommandError(f"DATABASE_URL: {str(error).strip()}") from error
        silent = [_SETTINGS[check.name] for check in CHECKS if not passes(check)]
        if silent:
            raise CommandError(f"Nothing answers at the address that {' and '.join(silent)} gives.")
        ensure_admin(options["data_dir"])
        synchronise()
        # Remembered beside the data: who deletes the demo's projects does not want them back.
        loaded = options["data_dir"] / "demo.loaded"
        if options["demo"] and not loaded.exists():
            seed()
            loaded.touch()
