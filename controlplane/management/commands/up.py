import contextlib
import os
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from controlplane.local.launch import Options, launch


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ArgumentTypeError(
            f"{text!r} is not a port. Use a number from 1 to 65535, as in: make up PORT=8001"
        )
    return int(text)


class Command(BaseCommand):
    help = (
        "Run all services on this machine: Postgres, Valkey, NATS, web, gRPC, worker, beat and relay."
        " Ctrl-C stops them."
    )
    # The database does not exist yet.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port",
            type=_port,
            default=os.environ.get("PORT") or "8000",
            help="Port of the console and the API.",
        )
        parser.add_argument(
            "--grpc-port",
            type=_port,
            default=os.environ.get("FLYTE_GRPC_PORT") or None,
            help="Port for Flyte's gRPC clients. Default: --port plus 89.",
        )
        parser.add_argument(
            "--nats-port",
            type=_port,
            default=os.environ.get("NATS_PORT") or None,
            help="Port of the built-in NATS, for agents. Default: --port plus 22.",
        )
        parser.add_argument(
            "--data-dir",
            type=Path,
            default=Path(os.environ.get("DATA_DIR") or ".data"),
            help="Folder for all data.",
        )
        parser.add_argument(
            "--no-demo",
            action="store_true",
            default=os.environ.get("DEMO") == "0",
            help="Omit the demo data.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # 8089 by default, as for FlyteAdmin, and different ports for two installations on one machine.
        grpc_port = options["grpc_port"] or options["port"] + 89
        launch_options = Options(
            options["data_dir"],
            options["port"],
            grpc_port,
            demo=not options["no_demo"],
            nats_port=options["nats_port"] or options["port"] + 22,
            dcm_agents=settings.DCM_AGENTS,
            hang_seconds=settings.WEB_HANG_SECONDS,
        )
        raise SystemExit(launch(launch_options, say=self._say))

    def _say(self, line: str) -> None:
        # A closed terminal must not stop the services.
        with contextlib.suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()
