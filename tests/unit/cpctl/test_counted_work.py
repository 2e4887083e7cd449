"""How far work is, and how long it still takes."""

from __future__ import annotations

import io
import sys

import pytest

from cpctl.counted_work import progress_line, with_progress
from cpctl.session import SESSION


@pytest.mark.parametrize(
    ("done", "seconds", "line"),
    [
        (0, 5.0, "Replacing 0/300"),
        (10, 0.5, "Replacing 10/300"),
        (100, 4.0, "Replacing 100/300, about 8 s left"),
        (299, 3.0, "Replacing 299/300, about 1 s left"),
    ],
)
def test_the_line_has_numbers_and_an_estimate(done, seconds, line):
    assert progress_line("Replacing", done, 300, seconds) == line


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_it_is_shown_at_a_terminal_alone_and_taken_back(monkeypatch):
    for stream, quiet, shown in (
        (Terminal(), False, True),
        (Terminal(), True, False),
        (io.StringIO(), False, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(SESSION, "quiet", quiet)
        assert list(with_progress("Testing", [1, 2])) == [1, 2]
        assert bool(stream.getvalue()) is shown
        assert not shown or ("Testing 1/2" in stream.getvalue() and stream.getvalue().endswith("\r\x1b[K"))


def test_a_message_takes_the_place_of_the_line(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(SESSION, "quiet", False)
    for piece in with_progress("Testing", ["a"]):
        SESSION.tell(f"Tested: {piece}")
    assert "Testing 0/1\r\x1b[KTested: a\n" in stream.getvalue()
