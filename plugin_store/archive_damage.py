"""Errors of damaged archives, and what a file looks like that is no archive at all. Pure."""

from __future__ import annotations

from plugin_store.errors import ArchiveDamaged


def damaged(why: str, *, start: bytes = b"") -> ArchiveDamaged:
    """The error for an archive that cannot be read; `start` is how its file begins."""
    return ArchiveDamaged(
        "The archive cannot be read.", why=f"{why}{_likeness(start)}.", advice=_advice(start)
    )


def looks_like_a_page(start: bytes) -> bool:
    """Whether a file is a web page, such as a server's error page."""
    return (
        start.lstrip(b"\xef\xbb\xbf \t\r\n")[:9]
        .lower()
        .startswith((b"<!doctype", b"<html", b"<?xml", b"<!--"))
    )


def _likeness(start: bytes) -> str:
    if looks_like_a_page(start):
        return "; it is a web page"
    return f"; it begins with {start[:16]!r}" if start else ""


def _advice(start: bytes) -> str:
    if looks_like_a_page(start):
        return "Open its address: the server probably sent an error page or a login page."
    return "Download it again, and compare its checksum with the author's."
