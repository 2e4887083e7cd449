"""Service level objectives over 28 days, and their rules by several windows and burn rates. Pure.

The burn rates and windows are those of the SRE Workbook, chapter 5, "Multiwindow, Multi-Burn-Rate Alerts".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controlplane.observability.alerting.rules import Alert, Recording, Severity

_SECONDS = "cp_http_request_duration_seconds"
_READS = 'route="api/v1/overrides/effective",method="GET"'
_HEARTBEATS = 'route=~".*agents.*heartbeat"'
WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")


@dataclass(frozen=True, slots=True)
class Objective:
    """What share of events is good.

    errors: the share of bad ones in [WINDOW], as PromQL. pages: False if a team's own receivers can cause
    errors, so that they wake nobody.
    """

    name: str
    good_share: float
    meaning: str
    errors: str
    pages: bool = True


@dataclass(frozen=True, slots=True)
class _Burn:
    """How many times faster than allowed errors come in both windows."""

    factor: float
    long: str
    short: str
    severity: Severity


def _slower(histogram: str, limit: str) -> str:
    """Return the share of observations above a limit, which is one of the buckets."""
    return f'1 - sum(rate({histogram}_bucket{{le="{limit}"}}[WINDOW])) / sum(rate({histogram}_count[WINDOW]))'


OBJECTIVES = (
    Objective(
        "api_availability",
        0.9995,
        "Requests that were answered without an error of the server",
        '(sum(rate(cp_http_requests_total{code_class="5xx"}[WINDOW])) or vector(0))'
        " / sum(rate(cp_http_requests_total[WINDOW]))",
    ),
    Objective(
        "effective_reads",
        0.99,
        "Reads of effective values within 20 ms",
        f'1 - sum(rate({_SECONDS}_bucket{{{_READS},le="0.02"}}[WINDOW]))'
        f" / sum(rate({_SECONDS}_count{{{_READS}}}[WINDOW]))",
    ),
    Objective(
        "heartbeats",
        0.9999,
        "Heartbeats that were answered without an error of the server",
        f'(sum(rate(cp_http_requests_total{{{_HEARTBEATS},code_class="5xx"}}[WINDOW])) or vector(0))'
        f" / sum(rate(cp_http_requests_total{{{_HEARTBEATS}}}[WINDOW]))",
    ),
    Objective(
        "detection",
        0.999,
        "Silent agents that were marked unavailable within 15 s after their lease",
        _slower("cp_detection_seconds", "15.0"),
    ),
    Objective(
        "dispatch",
        0.99,
        "Messages that were sent to agents within 2 s",
        _slower("cp_outbox_sent_seconds", "2.0"),
    ),
    Objective(
        "deliveries",
        0.99,
        "Events that were first sent to working sinks within 5 s",
        _slower("cp_delivery_first_attempt_seconds", "5.0"),
        pages=False,
    ),
)
_BURNS = (
    _Burn(14.4, "1h", "5m", Severity.PAGE),
    _Burn(6, "6h", "30m", Severity.PAGE),
    _Burn(3, "1d", "2h", Severity.TICKET),
    _Burn(1, "3d", "6h", Severity.TICKET),
)


def recordings() -> Iterator[Recording]:
    """Return the share of errors of each objective in each window."""
    for objective in OBJECTIVES:
        for window in WINDOWS:
            expression = objective.errors.replace("WINDOW", window)
            yield Recording(_name(window), expression, {"slo": objective.name})


def burn_alerts() -> Iterator[Alert]:
    """Return alerts on objectives whose budget of errors is used up too fast."""
    for objective in OBJECTIVES:
        for burn in _BURNS:
            if objective.pages or burn.severity is not Severity.PAGE:
                yield _burn_alert(objective, burn)


def _burn_alert(objective: Objective, burn: _Burn) -> Alert:
    limit = f"{burn.factor * (1 - objective.good_share):.6g}"
    where = f'{{slo="{objective.name}"}}'
    return Alert(
        name="CpErrorBudgetBurn",
        condition=f"{_name(burn.long)}{where} > {limit} and {_name(burn.short)}{where} > {limit}",
        severity=burn.severity,
        summary=f"{objective.meaning}: too few for {burn.long}.",
        description=f"Errors come {burn.factor:g} times faster than an objective of"
        f" {objective.good_share:.2%} in 28 days allows.",
        labels={"slo": objective.name, "window": burn.long},
    )


def _name(window: str) -> str:
    return f"cp:slo_errors:ratio_rate{window}"
