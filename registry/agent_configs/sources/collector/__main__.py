"""Run the collector of a cluster: `python -m registry.agent_configs.sources.collector --help`."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from controlplane import __version__
from controlplane.extras import is_installed, missing
from registry.agent_configs.sources.cluster.backoff import WatchTiming
from registry.agent_configs.sources.cluster.client import KubernetesCluster
from registry.agent_configs.sources.cluster.health import serve_probes
from registry.agent_configs.sources.cluster.protocol import EVERYWHERE, ClusterError
from registry.agent_configs.sources.collector.client import ReportClient
from registry.agent_configs.sources.collector.collector import Collector


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ]
    )
    if not is_installed("kubernetes"):
        return _fail(missing("kubernetes"))
    try:
        collector = _build(options)
    except (ClusterError, OSError, ValueError) as error:
        return _fail(str(error))
    _run(collector, options)
    return 0


def _build(options: argparse.Namespace) -> Collector:
    timing = WatchTiming(relist_interval=options.relist_seconds)
    return Collector(
        KubernetesCluster(options.kubeconfig, selector=options.selector, timing=timing),
        options.namespace,
        ReportClient(options.url, options.cluster, options.token_file, ca_file=options.ca_file),
        name=f"{socket.gethostname()}-{os.getpid()}",
        version=__version__,
        timing=timing,
        events=options.events,
        round_seconds=options.round_seconds,
    )


def _run(collector: Collector, options: argparse.Namespace) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: collector.halt())
    probes = serve_probes(collector.health, options.probe_port) if options.probe_port else None
    print(f"{collector.identity['name']} collects from {', '.join(options.namespace)}", flush=True)  # noqa: T201
    collector.start()
    collector.run()
    if probes:
        probes.shutdown()
        probes.server_close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "collector", description="Report the agent configurations of a cluster to a control plane."
    )
    parser.add_argument("--url", required=True, help="URL of the control plane, with https://.")
    parser.add_argument("--cluster", required=True, help="Name of the cluster, as it is registered.")
    parser.add_argument(
        "--token-file", required=True, type=Path, help="File with the token of the cluster's principal."
    )
    parser.add_argument(
        "--namespace",
        action="append",
        required=True,
        help=f"Namespace to follow; {EVERYWHERE} is all. Repeatable.",
    )
    parser.add_argument("--ca-file", default="", help="Certificates to trust. Default: the system's.")
    parser.add_argument("--kubeconfig", default="", help="Default: the service account of the pod.")
    parser.add_argument("--selector", default="", help="Label selector of the ConfigMaps.")
    parser.add_argument("--relist-seconds", type=float, default=300.0, help="Longest time between two lists.")
    parser.add_argument("--round-seconds", type=float, default=10.0, help="Longest time between two reports.")
    parser.add_argument("--no-events", dest="events", action="store_false", help="Write no Events.")
    parser.add_argument("--probe-port", type=int, default=0, help="Port of /livez and /readyz; 0 is none.")
    return parser


def _fail(reason: str) -> int:
    print(reason, file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
