import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.embedded.launch import Options, launch


class Command(BaseCommand):
    help = "Run everything on this machine: Postgres, Valkey, NATS, web, worker, beat. Ctrl-C stops it."
    # There is no database yet.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))
        parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("DATA_DIR", ".data")))
        parser.add_argument("--no-demo", action="store_true", default=os.environ.get("DEMO") == "0")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = Options(options["data_dir"].resolve(), options["port"], not options["no_demo"])
        raise SystemExit(launch(chosen, say=self.stdout.write))
