import os
import signal
import socket
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.identity.actors import system
from registry.agent_configs.source_models import AgentConfigCluster
from registry.agent_configs.sources.cluster.backoff import Pace
from registry.agent_configs.sources.cluster.client import MISSING, KubernetesCluster, is_installed
from registry.agent_configs.sources.cluster.health import serve
from registry.agent_configs.sources.cluster.protocol import ClusterError
from registry.agent_configs.sources.cluster.synchronise import SOURCE, STANDBY
from registry.agent_configs.sources.cluster.watcher import LISTING, OFFLINE, Watcher
from registry.agent_configs.sources.follow import AWAITING, CURRENT, confirm_removal

_ONCE_SECONDS = 120.0


class Command(BaseCommand):
    help = "Follow the ConfigMaps of a cluster until told to stop, and publish their agent configurations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="List once, publish, and leave.")
        parser.add_argument("--confirm", metavar="DIGEST", help="Let the documents go that are missing.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["confirm"]:
            confirm_removal(SOURCE, options["confirm"], actor=system("command"))
            self.stdout.write("Confirmed. The watcher lets them go if nothing else changed.")
            return
        watcher = _watcher()
        if options["once"]:
            self._once(watcher)
        else:
            self._follow(watcher)

    def _follow(self, watcher: Watcher) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: watcher.halt())
        port = settings.AGENT_CONFIGS_KUBERNETES_PROBE_PORT
        probes = serve(watcher.pulse, port) if port else None
        self.stdout.write(f"{watcher.name} watches {', '.join(settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES)}")
        self.stdout.flush()
        watcher.start()
        watcher.run()
        if probes:
            probes.shutdown()
            probes.server_close()

    def _once(self, watcher: Watcher) -> None:
        watcher.quiet = 0
        watcher.start()
        until = time.monotonic() + _ONCE_SECONDS
        while (state := watcher.step()) in (LISTING, OFFLINE) and time.monotonic() < until:
            watcher.stop.wait(0.2)
        watcher.drain(seconds=_ONCE_SECONDS)
        watcher.halt()
        self._report(state)

    def _report(self, state: str) -> None:
        row = AgentConfigCluster.objects.get(id=1)
        for problem in row.problems:
            self.stderr.write(problem)
        if state == AWAITING and row.pending:
            self.stderr.write(
                f"{len(row.pending['documents'])} documents would go. If that is meant: "
                f"manage.py watch_agent_configs --confirm {row.pending['digest']}"
            )
        if state == STANDBY:
            self.stdout.write(f"Another watcher follows the cluster: {row.watcher}.")
        elif state != CURRENT:
            raise CommandError(f"The cluster is not in force: {state}. What was read stays.")
        else:
            self.stdout.write("The cluster is in force.")


def _watcher() -> Watcher:
    namespaces = settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES
    if not namespaces:
        raise CommandError("AGENT_CONFIGS_KUBERNETES_NAMESPACES is empty, so there is nothing to watch.")
    if not is_installed():
        raise CommandError(MISSING)
    pace = Pace(relist=settings.AGENT_CONFIGS_KUBERNETES_RELIST_SECONDS)
    try:
        cluster = KubernetesCluster(
            settings.AGENT_CONFIGS_KUBERNETES_KUBECONFIG,
            selector=settings.AGENT_CONFIGS_KUBERNETES_SELECTOR,
            pace=pace,
        )
    except ClusterError as error:
        raise CommandError(
            f"{error} Set AGENT_CONFIGS_KUBERNETES_KUBECONFIG, or run it within the cluster."
        ) from error
    return Watcher(
        cluster,
        namespaces,
        name=f"{socket.gethostname()}-{os.getpid()}",
        quiet=settings.AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS,
        pace=pace,
        events=settings.AGENT_CONFIGS_KUBERNETES_EVENTS,
    )
