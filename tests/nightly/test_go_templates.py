"""Thousands of random templates render as Go's text/template renders them."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from registry.jobs.templates import TemplateError, render
from tests.support.job_templates import DATA, GoProgram, damaged_templates, running_go, templates
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
MANY = settings(max_examples=3000, deadline=None, suppress_health_check=list(HealthCheck), derandomize=False)
OUTCOMES: Counter[str] = Counter()

GOLDEN = ROOT / "tests" / "unit" / "registry" / "jobs" / "templates" / "golden.json"


@pytest.fixture(scope="module")
def go(tmp_path_factory):
    with running_go(tmp_path_factory.mktemp("go")) as program:
        yield program
    print(dict(OUTCOMES))


def rendered(source: str) -> str | None:
    try:
        return render(source, DATA).text
    except TemplateError:
        return None


@MANY
@given(source=templates())
def test_a_valid_template_renders_as_in_go(go: GoProgram, source: str):
    ours = rendered(source)
    OUTCOMES["valid, rendered" if ours is not None else "valid, refused"] += 1

    assert ours == go.render(source, DATA)


@MANY
@given(source=damaged_templates())
def test_a_damaged_template_renders_as_in_go_or_is_refused(go: GoProgram, source: str):
    ours = rendered(source)
    OUTCOMES["damaged, rendered" if ours is not None else "damaged, refused"] += 1

    assert ours is None or ours == go.render(source, DATA)


def test_the_recorded_results_are_those_of_go(go: GoProgram):
    recorded = json.loads(GOLDEN.read_text())

    assert [[source, go.render(source, DATA)] for source, _ in recorded] == recorded
