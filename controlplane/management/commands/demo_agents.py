from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from controlplane.demo.fleet import run
from controlplane.demo.seed import create_agents_token


class Command(BaseCommand):
    help = (
        "Send heartbeats of the demo's agents over HTTP until stopped: four are healthy, one is late,"
        " one is silent."
    )
    # `prepare` has checked the project; a second check would nearly double the time of this start.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--url", required=True, help="URL of the control plane, such as http://127.0.0.1:8000."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        run(options["url"], create_agents_token())
