"""Templates with the results that Go's text/template gave for them (tests/nightly/test_go_templates.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from registry.jobs.templates import TemplateError, render
from tests.support.job_templates import DATA

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())


@pytest.mark.parametrize(("source", "text"), [row for row in GOLDEN if row[1] is not None])
def test_a_template_renders_as_in_go(source, text):
    assert render(source, DATA).text == text


@pytest.mark.parametrize("source", [row[0] for row in GOLDEN if row[1] is None])
def test_what_go_refuses_is_refused(source):
    with pytest.raises(TemplateError):
        render(source, DATA)
