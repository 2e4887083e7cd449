import os
import signal
import socket
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from controlplane import __version__
from controlplane.members.presence import present
from controlplane.observability.process_pages import serve_metrics
from registry.plugin_releases.installer import Installer

_PAUSE_SECONDS = 1.0


class Command(BaseCommand):
    help = "Fetch plugins for releases, install them on this node, and activate releases. One per node."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="Do one step and exit.")
        parser.add_argument("--node", metavar="NAME", help="Name of this node. The default is PLUGIN_NODE.")

    def handle(self, *args: Any, **options: Any) -> None:
        node = options["node"] or settings.PLUGIN_NODE or socket.gethostname()
        installer = Installer(node, __version__)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: installer.halted.set())
        if options["once"]:
            installer.step()
            return
        serve_metrics("plugin-installer")
        self.stdout.write(f"Node {node} installs plugins in {settings.PLUGIN_ROOT}")
        self.stdout.flush()
        with present("plugin-installer", node):
            installer.run(_PAUSE_SECONDS)
        if installer.resolver.is_fetching:
            # Python would wait for the threads, so as long as a provider hangs.
            self.stdout.flush()
            os._exit(0)
