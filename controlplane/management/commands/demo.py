from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.demo.process import run


class Command(BaseCommand):
    help = (
        "Play the demo over HTTP until stopped: tell its story once, then send heartbeats of its agents,"
        " answer requests of resources, and receive its webhooks."
    )
    # `prepare` has checked the project; a second check would nearly double the time of this start.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--url", required=True, help="URL of the control plane, such as http://127.0.0.1:8000."
        )
        parser.add_argument(
            "--data-dir", type=Path, required=True, help="Folder with the record of the demo."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run(options["url"], options["data_dir"].absolute())
