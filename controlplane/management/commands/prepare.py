from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from controlplane.access.first_admin import ensure_admin
from controlplane.demo import seed


class Command(BaseCommand):
    help = "Make a database ready: tables, administrator, demo. One process for all of `make up`'s steps."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data-dir", type=Path, required=True)
        parser.add_argument("--demo", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        ensure_admin(options["data_dir"])
        # Remembered beside the data: who deletes the demo's projects does not want them back.
        loaded = options["data_dir"] / "demo.loaded"
        if options["demo"] and not loaded.exists():
            seed()
            loaded.touch()
