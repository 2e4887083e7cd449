"""How many connections an installation needs."""

from dataclasses import replace

from controlplane.cluster.connections import Processes, Threads, demand, needed_at_postgres

THREADS = Threads(web=4, heartbeats=2, joins=2, fast_reads=1, config_polls=1, flyte_grpc=8, relay=9)


def test_each_web_worker_needs_its_threads_and_its_sessions():
    web, grpc, worker, beat, relay = demand(Processes(web=3, web_workers=4, relays=2, beats=2), THREADS)
    assert (web.pooled, web.direct) == (48, 72)
    assert (grpc.pooled, grpc.direct) == (8, 1)
    assert (worker.pooled, beat.pooled, relay.pooled) == (8, 2, 18)


def test_read_replicas_need_one_more_connection_of_each_web_worker():
    web = demand(Processes(web=3, web_workers=4), replace(THREADS, samples=1))[0]
    assert (web.pooled, web.direct) == (60, 72)


def test_a_pooler_bounds_what_it_shares_and_nothing_else():
    rows = demand(Processes(web=3, web_workers=4), THREADS)
    direct = sum(row.direct for row in rows)
    pooled = sum(row.pooled for row in rows)
    assert needed_at_postgres(rows, None) == direct + pooled
    assert needed_at_postgres(rows, 20) == direct + 20
    assert needed_at_postgres(rows, 10_000) == direct + pooled
