"""Ranges of archives: any way to fetch an archive in parts gives the archive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.api.plugins.byte_ranges import answer_headers, requested_part

SHA256 = "a" * 64


@given(st.integers(1, 1000), st.integers(0, 1200), st.none() | st.integers(0, 1200))
def test_a_range_is_within_the_archive_and_what_was_asked_for(size, start, end):
    part = requested_part(size, SHA256, f"bytes={start}-{'' if end is None else end}", "")
    wanted = range(size)[start : None if end is None else end + 1]

    if end is not None and end < start:
        # RFC 9110 section 14.1.1: such a range is invalid, and is ignored.
        assert (part.start, part.length, part.is_part) == (0, size, False)
        return
    assert part.is_part
    assert part.length == len(wanted)
    headers = answer_headers(part, SHA256)
    if wanted:
        assert headers["Content-Range"] == f"bytes {wanted[0]}-{wanted[-1]}/{size}"
        assert headers["Content-Length"] == str(len(wanted))
    else:
        assert headers["Content-Range"] == f"bytes */{size}"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "bytes=",
        "bytes=-5",
        "bytes=1-2,4-5",
        "items=0-1",
        "bytes=a-b",
        "bytes=1",
        "bytes=" + "9" * 40 + "-",
    ],
)
def test_other_ranges_get_the_whole_archive(header):
    part = requested_part(10, SHA256, header, "")

    assert (part.start, part.length, part.is_part) == (0, 10, False)


@pytest.mark.parametrize("tag", ['"b"', f'W/"{SHA256}"', SHA256, "Tue, 24 Nov 2026 02:00:00 GMT"])
def test_a_part_of_another_archive_is_never_sent(tag):
    assert not requested_part(10, SHA256, "bytes=5-", tag).is_part
    assert requested_part(10, SHA256, "bytes=5-", f'"{SHA256}"').is_part
