"""Limits of figures, for Prometheus and for our own checks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One value of a metric. labels: such as {"state": "disabled"}."""

    metric: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit that a figure must not be above, or below if it is a minimum.

    by: label by whose values figures are looked at apart. where: label and value of the figures that count.
    """

    metric: str
    limit: float
    by: str = ""
    where: tuple[str, str] | None = None
    is_minimum: bool = False

    @property
    def expression(self) -> str:
        """The same in PromQL. Every web server shows the same figures, so the worst of them counts."""
        worst, sign = ("min", "<") if self.is_minimum else ("max", ">")
        by = f" by ({self.by}) " if self.by else ""
        where = '{{{}="{}"}}'.format(*self.where) if self.where else ""
        return f"{worst}{by}({self.metric}{where}) {sign} {self.limit:g}"

    def crossed(self, figures: Iterable[Figure]) -> Iterator[Figure]:
        """Return the figures beyond the limit."""
        for figure in figures:
            counts = self.where is None or figure.labels.get(self.where[0]) == self.where[1]
            if figure.metric == self.metric and counts and self._is_beyond(figure.value):
                yield figure

    def _is_beyond(self, value: float) -> bool:
        return value < self.limit if self.is_minimum else value > self.limit
