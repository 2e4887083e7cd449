"""Figures of the database: read once for many scrapers."""

from __future__ import annotations

import contextlib
import threading

from prometheus_client.core import GaugeMetricFamily

from controlplane.observability.scrapes import Scrapes


class Counting:
    def __init__(self):
        self.reads = 0

    def __call__(self):
        self.reads += 1
        return [GaugeMetricFamily("reads", "Reads.", value=self.reads)]


def value(families):
    ((sample,),) = [family.samples for family in families]
    return sample.value


def test_a_second_scrape_gets_the_same_figures():
    counting = Counting()
    scrapes = Scrapes(counting)

    assert [value(scrapes.read(60)) for _ in range(3)] == [1, 1, 1]
    assert value(scrapes.read(0)) == 2


def test_who_sees_other_rows_gets_other_figures():
    scrapes = Scrapes(Counting())

    assert [value(scrapes.read(60, reader=reader)) for reader in ("", "a", "", "a")] == [1, 2, 1, 2]


def test_many_at_once_read_once():
    counting = Counting()
    scrapes = Scrapes(counting)
    threads = [threading.Thread(target=scrapes.read, args=(60,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counting.reads == 1


def test_a_reading_that_fails_leaves_nothing_behind():
    class Failing(Counting):
        def __call__(self):
            if not self.reads:
                self.reads += 1
                raise OSError("The database is away.")
            return super().__call__()

    scrapes = Scrapes(Failing())
    with contextlib.suppress(OSError):
        scrapes.read(60)

    assert value(scrapes.read(60)) == 2
