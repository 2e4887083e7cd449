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
        raise ArgumentTypeError(f"{text!r} is not a port. Choose one from 1 to 65535: make up PORT=8001")
    return int(text)


class Command(BaseCommand):
    help = "Run everything on this machine: Postgres, Valkey, NATS, web, gRPC, worker, beat. Ctrl-C stops it."
    # There is no database yet.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=_port, default=os.environ.get("PORT") or "8000")
        parser.add_argument(
            "--grpc-port",
            type=_port,
            default=os.environ.get("FLYTE_GRPC_PORT") or None,
            help="For Flyte's gRPC clients; 89 above --port unless given.",
        )
        parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("DATA_DIR") or ".data"))
        parser.add_argument("--no-demo", action="store_true", default=os.environ.get("DEMO") == "0")

    def handle(self, *args: Any, **options: Any) -> None:
        # 8089, as FlyteAdmin's own; and two installations on one machine do not meet.
        grpc_port = options["grpc_port"] or options["port"] + 89
        chosen = Options(
            options["data_dir"],
            options["port"],
            grpc_port,
            demo=not options["no_demo"],
            hang_seconds=settings.WEB_HANG_SECONDS,
        )
        raise SystemExit(launch(chosen, say=self._say))

    def _say(self, line: str) -> None:
        # A terminal that was closed is no reason to let everything die.
        with contextlib.suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()
