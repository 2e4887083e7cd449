"""Checks of the installation, and the same limits as PromQL."""

from __future__ import annotations

import pytest

from controlplane.observability.alerting.causes import CAUSES
from controlplane.observability.alerting.checks import checks_of
from controlplane.observability.alerting.thresholds import Figure, Threshold


@pytest.mark.parametrize(
    ("threshold", "expression"),
    [
        (Threshold("a", 30), "max(a) > 30"),
        (Threshold("a", 0, by="log"), "max by (log) (a) > 0"),
        (Threshold("a", 1, by="log", is_minimum=True), "min by (log) (a) < 1"),
        (Threshold("a", 0.5, where=("state", "disabled")), 'max(a{state="disabled"}) > 0.5'),
    ],
)
def test_a_threshold_in_promql(threshold, expression):
    assert threshold.expression == expression


def test_a_figure_at_its_limit_is_good():
    assert list(Threshold("a", 30).crossed([Figure("a", {}, 30)])) == []
    assert list(Threshold("a", 1, is_minimum=True).crossed([Figure("a", {}, 1)])) == []


def test_figures_of_another_metric_or_state_do_not_count():
    figures = [Figure("b", {}, 99), Figure("a", {"state": "active"}, 99), Figure("a", {}, 99)]
    assert list(Threshold("a", 0, where=("state", "disabled")).crossed(figures)) == []


def test_each_figure_beyond_its_limit_is_a_check_that_says_where_to_read():
    figures = [
        Figure("cp_stream_differs", {"stream": name}, value) for name, value in (("A", 1), ("B", 0), ("C", 1))
    ]
    failed = [check for check in checks_of(figures) if not check.is_good]
    assert [(check.name, check.about) for check in failed] == [
        ("CpJetStreamDiffers", "A"),
        ("CpJetStreamDiffers", "C"),
    ]
    assert failed[0].runbook == "docs/operations.md#cpjetstreamdiffers"


def test_without_figures_every_limit_is_kept_and_rates_are_left_to_prometheus():
    checks = checks_of([])
    assert all(check.is_good for check in checks)
    limits = {cause.name for cause in CAUSES if isinstance(cause.condition, Threshold)}
    assert {check.name for check in checks} == limits
    assert "CpUnknownAgents" not in limits
