"""`python -m benchmarks.million`: a million leases on one machine, kept by gateways over HTTP.

1. Gateways of examples/gateway send the heartbeats of all agents in bulk for one interval of the server's.
   SQL then counts the leases: all were renewed within it, each last at the time that was acknowledged.
2. A gateway with a tenth of each environment renews these leases at once, and crashes. The share is below
   that which engages the fleet guard, so the sweep marks the agents unavailable when their leases have
   expired, beside the heartbeats of all others.
3. Single heartbeats are measured before that sweep and beside it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass, field
from datetime import timedelta

from benchmarks import million_fleet, single_beats, table
from benchmarks.database_figures import Figures, ask, read_figures
from benchmarks.fleet_storm import sweeping
from benchmarks.gateway_processes import Behind, GatewayProcess, Played
from benchmarks.load import Load, Measured
from benchmarks.machine import CLIENT_CPUS, description, memory_of, seconds_of
from benchmarks.million_fleet import MillionFleet
from benchmarks.single_beats import Window, WindowedLoad
from benchmarks.stage import WORKERS, Server, Stage, stage
from benchmarks.table import Row
from registry.agents.liveness import LEASE_INTERVALS, LivenessPolicy

# An agent whose heartbeat is sent when it is due is renewed within the interval and its request.
_SLACK = 5.0
_CALM_SECONDS = 20.0
_POLL = 1.0
# For a 99th percentile.
_LEAST_ANSWERS = 1000


@dataclass(slots=True)
class Bench:
    running: Stage
    server: Server
    fleet: MillionFleet
    agents: int
    interval: float
    connections: int
    # What SQL disproved.
    failures: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return self.running.environment["DATABASE_URL"]

    def gateways(self, *silent: bool) -> list[GatewayProcess]:
        """Start a gateway for each environment, with its agents that fall silent, the others, or both."""
        return [
            GatewayProcess(
                Behind(
                    [
                        agent
                        for share in silent
                        for agent in million_fleet.members(self.url, account.number, silent=share)
                    ],
                    account.token,
                    self.server.port,
                )
            )
            for account in self.fleet.accounts
        ]

    def singles(self, seconds: float) -> WindowedLoad:
        requests = [agent.request() for agent in self.fleet.single]
        return WindowedLoad(Load(self.server.port, requests, self.connections, seconds, cpus=CLIENT_CPUS))


def main() -> int:
    options = _options()
    interval = _interval(options)
    seconds = interval * (1 + LEASE_INTERVALS)
    print(
        f"{description()}. {options.agents:,} agents, every {interval:.0f} s: some {seconds:.0f} s ...",
        flush=True,
    )
    with stage({"HEARTBEATS_PER_SECOND": str(options.rate)}) as running:
        fleet = million_fleet.load(
            running.environment["DATABASE_URL"],
            options.agents,
            gateways=options.gateways,
            single=options.single,
        )
        print("Loaded.", flush=True)
        server = running.serve("ours", "controlplane.asgi:application")
        os.sched_setaffinity(0, CLIENT_CPUS)
        bench = Bench(running, server, fleet, options.agents, interval, options.connections)
        with sweeping(running):
            rows = renew_all(bench)
            print(table.markdown(rows), flush=True)
            rows += sweep_tenth(bench)
    text = table.markdown(rows)
    print(text)
    if options.write:
        table.write(f"{_preface(options, interval)}\n\n{text}", part="million")
    print("\n".join(bench.failures), file=sys.stderr)
    return 1 if bench.failures else 0


def renew_all(bench: Bench) -> list[Row]:
    """Keep all leases for one interval; count them by SQL."""
    gateways = bench.gateways(False, True)
    _wait_for(gateways)
    print("All agents are known to their gateways; one interval ...", flush=True)
    before, spent = read_figures(bench.url), seconds_of([bench.server.process.pid, bench.running.postgres])
    renewed = sum(gateway.renewed for gateway in gateways)
    since = ask(bench.url, "SELECT now()")[0]
    time.sleep(bench.interval + _SLACK)
    after = read_figures(bench.url)
    spent = seconds_of([bench.server.process.pid, bench.running.postgres]) - spent
    renewed = sum(gateway.renewed for gateway in gateways) - renewed
    memory = memory_of([bench.server.process.pid]), memory_of([bench.running.postgres])
    played = _stop(bench, gateways)
    counts = ask(bench.url, million_fleet.RENEWED, {"since": since})
    if len(set(counts)) > 1:
        bench.failures.append("Not every lease was renewed as acknowledged.")
    return [
        *_renewal_rows(bench, played, counts, renewed),
        *_cost_rows(before, after, renewed, spent, memory),
    ]


def sweep_tenth(bench: Bench) -> list[Row]:
    """Let a tenth fall silent at once; measure single heartbeats without its sweep and beside it."""
    silent = million_fleet.members(bench.url, None, silent=True)
    crashing = GatewayProcess(Behind(silent, bench.fleet.operator, bench.server.port))
    _wait_for([crashing])
    crashing.kill()
    gateways = bench.gateways(False)
    _wait_for(gateways)
    print(f"{len(silent):,} agents are silent; single heartbeats ...", flush=True)
    load = bench.singles(_CALM_SECONDS + 5)
    time.sleep(_CALM_SECONDS)
    calm = load.stop()
    expired_at = float(ask(bench.url, million_fleet.EXPIRED)[0])
    print(f"Their leases expire in {expired_at - time.time():.0f} s ...", flush=True)
    time.sleep(max(0.0, expired_at - time.time() - 10))
    before = read_figures(bench.url)
    load = bench.singles(300)
    deadline = time.time() + 240
    while ask(bench.url, million_fleet.MARKED)[0] < len(silent) and time.time() < deadline:
        time.sleep(_POLL)
    windows = load.stop()
    after = read_figures(bench.url)
    began, ended, events = ask(bench.url, million_fleet.SWEPT)
    wrong = ask(bench.url, million_fleet.WRONG)[0]
    if wrong:
        bench.failures.append("Not exactly the silent agents are unavailable.")
    played = _stop(bench, gateways)
    beside = [window for window in windows if window.began >= began and window.ended <= ended]
    return [
        *_single_rows(calm, beside),
        Row(
            f"{events:,} agents marked, from the last lease’s end",
            f"{ended - expired_at:.1f} s",
            ratio=f"marking took {ended - began:.1f} s",
        ),
        Row("agents marked wrongly or not at all", f"{wrong:,}", target="0"),
        Row("WAL meanwhile, with the heartbeats", f"{(after.wal - before.wal) / 2**20:,.0f} MiB"),
        Row("bulk heartbeats refused meanwhile", f"{sum(gateway.refused for gateway in played)}", target="0"),
    ]


def _single_rows(calm: list[Window], beside: list[Window]) -> list[Row]:
    quiet, busy = single_beats.merged(calm), single_beats.merged(beside)
    ratio = "too few to compare"
    if min(len(quiet.latencies), len(busy.latencies)) >= _LEAST_ANSWERS:
        ratio = f"p99 {busy.percentile(0.99) / quiet.percentile(0.99):.2f} x"
    return [
        _row("single heartbeats beside the bulk, no sweep", quiet),
        _row("single heartbeats while the tenth is swept", busy, ratio, "<= 1.3 x"),
    ]


def _renewal_rows(bench: Bench, played: list[Played], counts: tuple[int, ...], renewed: int) -> list[Row]:
    requests = Measured(latencies=[latency for gateway in played for latency in gateway.latencies])
    within, exact, behind = counts
    longest = max(gateway.longest for gateway in played)
    return [
        Row(
            f"heartbeats in bulk, {len(played)} gateways, every {played[0].interval:.0f} s",
            f"{renewed / (bench.interval + _SLACK):,.0f}",
            errors=str(sum(gateway.refused for gateway in played)),
        ),
        Row(
            "  requests of up to 1,000",
            f"{len(requests.latencies):,} in all",
            f"{requests.percentile(0.5):.0f}",
            f"{requests.percentile(0.99):.0f}",
        ),
        Row("leases renewed within the interval, by SQL", f"{within:,}", target=f"{behind:,}"),
        Row("leases with exactly the acknowledged time, by SQL", f"{exact:,}", target=f"{behind:,}"),
        Row(
            "longest time between two renewals of an agent",
            f"{longest:.1f} s",
            target=f"<= {bench.interval:.0f} s",
        ),
    ]


def _cost_rows(
    before: Figures, after: Figures, renewed: int, spent: float, memory: tuple[int, int]
) -> list[Row]:
    hot = (after.hot - before.hot) / max(1, after.updates - before.updates)
    return [
        Row("  processor time of each, web and database", "", cpu=f"{spent / max(1, renewed) * 1e6:.0f}"),
        Row("  WAL of each", f"{(after.wal - before.wal) / max(1, renewed):.0f} bytes"),
        Row("  updates of leases that were HOT", f"{100 * hot:.1f} %"),
        Row(
            "lease table, before and after",
            f"{before.size / 2**20:.0f}, {after.size / 2**20:.0f} MiB",
            ratio=f"{after.vacuums - before.vacuums} autovacuums",
        ),
        Row(
            f"resident memory, {WORKERS} workers and parent; Postgres with shared pages",
            " and ".join(f"{size / 2**20:.0f} MiB" for size in memory),
        ),
    ]


def _row(work: str, measured: Measured, ratio: str = "", target: str = "") -> Row:
    p50, p99 = f"{measured.percentile(0.5):.1f}", f"{measured.percentile(0.99):.1f}"
    return Row(
        work, f"{measured.rate:,.0f}", p50, p99, errors=str(measured.errors), ratio=ratio, target=target
    )


def _wait_for(gateways: list[GatewayProcess]) -> None:
    """Wait until each has renewed the leases of all its agents once."""
    deadline = time.monotonic() + 300
    while any(gateway.renewed < gateway.agents for gateway in gateways):
        if time.monotonic() > deadline:
            raise TimeoutError("The gateways do not renew all leases.")
        time.sleep(0.1)


def _stop(bench: Bench, gateways: list[GatewayProcess]) -> list[Played]:
    ask(bench.url, "DROP TABLE IF EXISTS bench_acknowledged")
    ask(bench.url, "CREATE TABLE bench_acknowledged (agent_id uuid, acknowledged_at timestamptz)")
    for gateway in gateways:
        gateway.ask_to_stop(bench.url)
    return [gateway.result() for gateway in gateways]


def _interval(options: argparse.Namespace) -> float:
    """Return the interval that the server sets for a fleet of this size."""
    policy = LivenessPolicy(timedelta(seconds=30), timedelta(seconds=90), 0.2)
    return policy.for_fleet(options.agents, rate=options.rate).interval.total_seconds()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=1_000_000)
    parser.add_argument("--gateways", type=int, default=10, help="each with an environment and a team")
    parser.add_argument(
        "--rate", type=int, default=10_000, help="HEARTBEATS_PER_SECOND; 4000 by default in use"
    )
    parser.add_argument("--single", type=int, default=10_000, help="agents that send their own heartbeats")
    parser.add_argument("--connections", type=int, default=256, help="of the single heartbeats")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _preface(options: argparse.Namespace, interval: float) -> str:
    return (
        f"{description()}. {options.agents:,} agents in {options.gateways} environments of a team each; a"
        f" gateway for each sends their heartbeats in bulk. HEARTBEATS_PER_SECOND is {options.rate}, so the"
        f" interval is {interval:.0f} s. {WORKERS} web workers, worker and beat; servers and database share"
        " all cores but the last, which gateways and client have."
    )


if __name__ == "__main__":
    sys.exit(main())
