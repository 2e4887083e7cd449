import os
import signal
import socket
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from controlplane.extras import is_installed, missing
from controlplane.formats.counts import counted
from controlplane.identity.actors import system
from controlplane.members.presence import present
from registry.agent_configs.source_models import AgentConfigCluster
from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.client import KubernetesCluster
from registry.agent_configs.sources.cluster.health import serve_probes
from registry.agent_configs.sources.cluster.protocol import ClusterError
from registry.agent_configs.sources.cluster.synchronise import SOURCE, STANDBY
from registry.agent_configs.sources.cluster.watcher import LISTING, OFFLINE, Watcher
from registry.agent_configs.sources.follow import AWAITING, CURRENT, confirm_removal

_ONCE_SECONDS = 120.0


class Command(BaseCommand):
    help = "Follow the ConfigMaps of a cluster and publish their agent configurations."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="List once, publish and exit.")
        parser.add_argument("--confirm", metavar="DIGEST", help="Confirm the removal of missing documents.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["confirm"]:
            confirm_removal(SOURCE, options["confirm"], actor=system("command"))
            self.stdout.write("Confirmed. The watcher removes the documents if nothing else has changed.")
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
        probes = serve_probes(watcher.health, port) if port else None
        self.stdout.write(f"{watcher.name} watches {', '.join(settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES)}")
        self.stdout.flush()
        watcher.start()
        with present("config-watcher", watcher.name):
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
        watcher.resign()
        self._report(state)

    def _report(self, state: str) -> None:
        row = AgentConfigCluster.objects.get(id=1)
        for problem in row.problems:
            self.stderr.write(problem)
        if state == AWAITING and row.pending:
            self.stderr.write(
                f"{counted(len(row.pending['documents']), 'document')} would be removed. To confirm, run "
                f"manage.py watch_agent_configs --confirm {row.pending['digest']}"
            )
        if state == STANDBY:
            self.stdout.write(f"Another watcher follows the cluster: {row.watcher}.")
        elif state != CURRENT:
            raise CommandError(f"The cluster was not loaded: {state}. Its documents stay.")
        else:
            self.stdout.write("The cluster was loaded.")


def _watcher() -> Watcher:
    namespaces = settings.AGENT_CONFIGS_KUBERNETES_NAMESPACES
    if not namespaces:
        raise CommandError("AGENT_CONFIGS_KUBERNETES_NAMESPACES is empty. Set it to the namespaces to watch.")
    if not is_installed("kubernetes"):
        raise CommandError(missing("kubernetes"))
    timing = WatchTiming(relist_interval=settings.AGENT_CONFIGS_KUBERNETES_RELIST_SECONDS)
    try:
        cluster = KubernetesCluster(
            settings.AGENT_CONFIGS_KUBERNETES_KUBECONFIG,
            selector=settings.AGENT_CONFIGS_KUBERNETES_SELECTOR,
            timing=timing,
        )
    except ClusterError as error:
        raise CommandError(
            f"{error} Set AGENT_CONFIGS_KUBERNETES_KUBECONFIG, or run the watcher inside the cluster."
        ) from error
    return Watcher(
        cluster,
        namespaces,
        name=f"{socket.gethostname()}-{os.getpid()}",
        quiet=settings.AGENT_CONFIGS_KUBERNETES_SETTLE_SECONDS,
        timing=timing,
        events=settings.AGENT_CONFIGS_KUBERNETES_EVENTS,
    )
