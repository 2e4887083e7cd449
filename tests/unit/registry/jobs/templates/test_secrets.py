"""Templates that can read a secret are found without rendering them."""

from __future__ import annotations

import pytest
from hypothesis import given

from registry.jobs.templates import TemplateError, render
from registry.jobs.templates.parser import parse
from registry.jobs.templates.secrets import can_read_secret
from tests.support.job_templates import DATA, templates
from tests.support.properties import examples


@pytest.mark.parametrize(
    "source",
    [
        "{{ .secret.TOKEN }}",
        '{{ (index . "secret").TOKEN }}',
        "{{ if .no }}{{ range list (printf `%s` $.secret.TOKEN) }}{{ end }}{{ end }}",
        "{{ if .no }}{{ else if .no }}{{ with .secret }}{{ .TOKEN }}{{ end }}{{ end }}",
        "{{ with .no }}{{ else }}{{ .secret.TOKEN | trunc 1 }}{{ end }}",
        "{{ $x := (.secret) }}",
        "{{ .proj.A | or .secret.TOKEN }}",
    ],
)
def test_a_secret_in_any_branch_is_found(source):
    assert can_read_secret(parse(source))


@pytest.mark.parametrize(
    "source", ["", ".secret.TOKEN", "{{/* .secret.TOKEN */}}", "{{ .secrets }}", "{{ `.secret.` }}"]
)
def test_text_that_mentions_a_secret_is_not_found(source):
    assert not can_read_secret(parse(source))


@examples(25, nightly=1_000)
@given(source=templates())
def test_whatever_reads_a_secret_can_read_a_secret(source):
    try:
        reads = render(source, DATA).reads
    except TemplateError:
        return

    assert can_read_secret(parse(source)) or all(path[0] != "secret" for path in reads)
