"""Reading of figures from the database within a bounded time.

A slow or locked table costs its own figures: they are left out, as Prometheus expects of what is not known,
and `cp_figures_read` reports it. Figures from before would look as if they were of now.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error, OperationalError, connection, transaction
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

_log = logging.getLogger(__name__)
# For all collectors, well below the ten seconds that Prometheus waits, and for each of them.
_SECONDS, _SECONDS_EACH = 4.0, 1.0
# Postgres hears of the time that is left at most so often.
_PRECISION_SECONDS = 0.1


class FigureReader:
    """Reads collectors one after the other; those that failed last time come last, and delay nobody."""

    def __init__(self, seconds: float = _SECONDS, seconds_each: float = _SECONDS_EACH) -> None:
        self._seconds, self._seconds_each = seconds, seconds_each
        self._failed: frozenset[str] = frozenset()

    def read(self, collectors: Iterable[Collector]) -> list[Metric]:
        """Return the figures that can be had in time, and which could not."""
        ends_at = time.monotonic() + self._seconds
        figures: dict[str, list[Metric] | None] = {}
        for collector in sorted(collectors, key=self._has_failed):
            name = _name(collector)
            figures[name] = _read(collector, min(ends_at, time.monotonic() + self._seconds_each))
        self._failed = frozenset(name for name, families in figures.items() if families is None)
        return [
            *(family for families in figures.values() for family in families or ()),
            _completeness(figures),
        ]

    def _has_failed(self, collector: Collector) -> bool:
        return _name(collector) in self._failed


def _name(collector: Collector) -> str:
    return type(collector).__name__


def _read(collector: Collector, ends_at: float) -> list[Metric] | None:
    """Return the figures of a collector; None if Postgres did not answer in time, or with an error."""
    try:
        with transaction.atomic(), _until(ends_at):
            return list(collector.collect())
    except Error as error:
        _log.warning("figures_not_read", extra={"collector": _name(collector), "error": str(error)[:200]})
        return None


def _completeness(figures: dict[str, list[Metric] | None]) -> Metric:
    family = GaugeMetricFamily(
        "cp_figures_read",
        "1 for figures that were read from the database; 0 for those that are left out.",
        labels=["collector"],
    )
    for name, families in sorted(figures.items()):
        family.add_metric([name], int(families is not None))
    return family


@contextmanager
def _until(ends_at: float) -> Iterator[None]:
    """Have Postgres end statements of this block at a time."""
    deadline = _Deadline(ends_at)
    with connection.execute_wrapper(deadline):
        yield
    if deadline.is_set:
        # The transaction may be that of a whole request, which goes on.
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout TO DEFAULT")


class _Deadline:
    """Wraps the execution of each statement. Raises OperationalError if no time is left for it."""

    def __init__(self, ends_at: float) -> None:
        self._ends_at = ends_at
        self._set_at = float("-inf")

    @property
    def is_set(self) -> bool:
        return self._set_at > float("-inf")

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        now = time.monotonic()
        if now >= self._ends_at:
            raise OperationalError("No time is left to read these figures.")
        if now - self._set_at >= _PRECISION_SECONDS:
            self._set_at = now
            milliseconds = max(1, round(1000 * (self._ends_at - now)))
            _limit(context["connection"], milliseconds)
        return execute(sql, params, many, context)


def _limit(wrapper: Any, milliseconds: int) -> None:
    """Have Postgres end each statement of the transaction after this time."""
    with wrapper.wrap_database_errors:
        wrapper.connection.execute("SELECT set_config('statement_timeout', %s, true)", [str(milliseconds)])
