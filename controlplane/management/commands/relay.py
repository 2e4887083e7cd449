import signal
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.management.relay_loops import LOOPS, Processes
from controlplane.members.presence import present
from controlplane.observability.process_pages import serve_metrics, serve_pages
from controlplane.observability.traces.process import traced_process


class Command(BaseCommand):
    help = "Send messages to agents and events to sinks, and handle what agents send. Run any number of them."
    # They import all routes of the web server, which checks itself.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--only", metavar="NAMES", default="", help=f"Parts to run, comma-separated: {', '.join(LOOPS)}."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        only = [name for name in options["only"].split(",") if name]
        unknown = sorted(set(only) - set(LOOPS))
        if unknown:
            raise CommandError(f"There is no part {unknown[0]!r}. Choose from: {', '.join(LOOPS)}.")
        processes = Processes(only)

        def end(*_: Any) -> None:
            processes.is_ending = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        serve_metrics("relay")
        probes = serve_pages(settings.RELAY_PORT) if settings.RELAY_PORT else None
        self.stdout.write(f"Relay runs: {', '.join(only or LOOPS)}")
        self.stdout.flush()
        with traced_process("relay"), present("relay"):
            ended_well = processes.run()
        if probes:
            probes.shutdown()
            probes.server_close()
        if not ended_well:
            raise CommandError(f"A part ended by itself: {', '.join(processes.failed)}. See the log.")
