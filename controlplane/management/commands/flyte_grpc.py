from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.database import silence
from controlplane.extras import is_installed, missing
from controlplane.members.presence import present
from controlplane.observability.process_pages import serve_metrics
from controlplane.observability.traces.process import traced_process
from controlplane.serving.stop_signals import StopSignals

if TYPE_CHECKING:
    from overrides.flyte.grpc_server import FlyteServer, ListenOptions

# Time for running calls to finish; process managers kill after 30 s.
_GRACE_SECONDS = 10.0


class Command(BaseCommand):
    help = "Serve Flyte's gRPC clients (flytectl, flytekit) until stopped."
    # Health checks probe every 30 seconds: only a server that starts checks the whole project.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--probe", action="store_true", help="Check whether a running server responds, and exit."
        )
        # Django has this option only for commands that always check.
        parser.add_argument(
            "--skip-checks", action="store_true", help="Start without Django's system checks."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not is_installed("flyte"):
            raise CommandError(missing("flyte"))
        from overrides.flyte.grpc_server import serves

        if options["probe"]:
            if not serves(_listening()):
                raise CommandError(f"No Flyte gRPC server responds on port {settings.FLYTE_GRPC_PORT}.")
            return
        self._serve(is_checked=options["skip_checks"])

    def _serve(self, *, is_checked: bool) -> None:
        from overrides.flyte.grpc_server import serve

        _check_encrypted()
        silence.watch.enable()
        if not is_checked:
            self.check()
        serve_metrics("flyte-grpc")
        try:
            with traced_process("flyte-grpc"):
                serve(_listening(), grace=_GRACE_SECONDS, until=self._until_left)
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {settings.FLYTE_GRPC_ADDRESS}:{settings.FLYTE_GRPC_PORT}: {error}."
                " Set FLYTE_GRPC_PORT to a free port, and check FLYTE_GRPC_TLS_CERT and"
                " FLYTE_GRPC_TLS_KEY."
            ) from error

    async def _until_left(self, server: FlyteServer, port: int) -> None:
        signals = StopSignals()
        self.stdout.write(f"Flyte gRPC on {settings.FLYTE_GRPC_ADDRESS}:{port}")
        self.stdout.flush()
        with present("flyte-grpc"):
            await signals.wait()
            await server.announce_stop()
            await signals.leave(settings.LEAVE_SECONDS)


def _check_encrypted() -> None:
    if settings.SECURE_SSL_REDIRECT and not (
        settings.FLYTE_GRPC_TLS_CERT or settings.SECURE_PROXY_SSL_HEADER
    ):
        raise CommandError(
            "Tokens would be sent unencrypted. Set FLYTE_GRPC_TLS_CERT and FLYTE_GRPC_TLS_KEY, or"
            " BEHIND_TLS_PROXY=true behind a proxy that terminates TLS."
        )


def _listening() -> ListenOptions:
    from overrides.flyte.grpc_server import ListenOptions
    from overrides.flyte.grpc_services import most_bytes

    return ListenOptions(
        settings.FLYTE_GRPC_ADDRESS,
        settings.FLYTE_GRPC_PORT,
        settings.FLYTE_GRPC_THREADS,
        most_bytes(),
        settings.FLYTE_GRPC_TLS_CERT,
        settings.FLYTE_GRPC_TLS_KEY,
    )
