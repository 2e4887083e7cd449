"""The first command of each empty list is one that cpctl has, with options that the command takes."""

from __future__ import annotations

import re
import shlex

import click
import pytest
import typer
from django.template import Context, Template

from cpctl.main import app
from tests.support.paths import ROOT

_EMPTY = re.compile(r"\{% empty .*?(?:'(cpctl [^']*)'|\"(cpctl [^\"]*)\") %\}")
COMMANDS = sorted(
    {
        single or double
        for page in (ROOT / "console" / "templates").rglob("*.html")
        for single, double in _EMPTY.findall(page.read_text())
    }
)


def test_many_lists_have_one() -> None:
    assert len(COMMANDS) >= 12


@pytest.mark.parametrize("line", COMMANDS)
def test_cpctl_takes_it(line: str) -> None:
    words = shlex.split(line)[1:]
    command: click.Command = typer.main.get_command(app)
    context = click.Context(command)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None, line
        command, context = found, click.Context(found, parent=context)

    command.make_context(command.name or "", words)


def test_quotes_of_a_command_end_no_attribute() -> None:
    template = Template("""{% load parts %}{% empty "None" "Why." 'cpctl say "hello"' %}""")

    page = template.render(Context())

    assert 'data-copy="cpctl say &quot;hello&quot;"' in page
