"""Dashboards as data: what each panel asks, and in which unit it shows the answer. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# Grafana's names of units.
SECONDS, PER_SECOND, PER_CENT, COUNT = "s", "reqps", "percentunit", "short"


@dataclass(frozen=True)
class Query:
    """legend: with labels in braces, such as {{state}}."""

    expr: str
    legend: str = ""


@dataclass(frozen=True)
class Panel:
    title: str
    unit: str
    queries: tuple[Query, ...]
    description: str = ""


@dataclass(frozen=True)
class Dashboard:
    """name: of its file and address. Each web server shows all figures of the database: max, no sum."""

    name: str
    title: str
    panels: tuple[Panel, ...]


def figure(title: str, metric: str, unit: str = COUNT, by: str = "", description: str = "") -> Panel:
    """Return a panel of a figure that is read from the database."""
    labels = f" by ({by})" if by else ""
    legend = " ".join(f"{{{{{label}}}}}" for label in by.split(", ")) if by else title
    return Panel(title, unit, (Query(f"max{labels} ({metric})", legend),), description)


def total(title: str, metric: str, by: str = "") -> Panel:
    """Return a panel of a figure that each process shows for itself."""
    labels = f" by ({by})" if by else ""
    return Panel(title, COUNT, (Query(f"sum{labels} ({metric})", f"{{{{{by}}}}}" if by else title),))


def rate(title: str, metric: str, by: str, description: str = "") -> Panel:
    """Return a panel of a counter of all processes, per second."""
    query = Query(f"sum by ({by}) (rate({metric}[$__rate_interval]))", f"{{{{{by}}}}}")
    return Panel(title, PER_SECOND, (query,), description)


def quantiles(title: str, metric: str, by: str = "", where: str = "") -> Panel:
    """Return a panel of the median and the 99th percentile of a histogram."""
    labels = f"le, {by}" if by else "le"
    legend = f" {{{{{by}}}}}" if by else ""
    return Panel(
        title,
        SECONDS,
        tuple(
            Query(
                f"histogram_quantile({share}, sum by ({labels})"
                f" (rate({metric}_bucket{where}[$__rate_interval])))",
                f"p{int(share * 100)}{legend}",
            )
            for share in (0.5, 0.99)
        ),
    )
