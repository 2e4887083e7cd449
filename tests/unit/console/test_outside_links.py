"""Links to the files of overrides at a Git host, and to tickets."""

from __future__ import annotations

import pytest

from console.outside_links import file_url, ticket_url

TEMPLATE = "https://git.example.com/config/blob/main/{file}#L{line}"


@pytest.mark.parametrize(
    ("template", "place", "url"),
    [
        (TEMPLATE, "teams/ml.yaml:12", "https://git.example.com/config/blob/main/teams/ml.yaml#L12"),
        ("https://git.example.com/{file}", "a b.yaml:3", "https://git.example.com/a%20b.yaml"),
        (
            TEMPLATE,
            '"><script>.yaml:1',
            "https://git.example.com/config/blob/main/%22%3E%3Cscript%3E.yaml#L1",
        ),
        ("", "teams/ml.yaml:12", ""),
        (TEMPLATE, "", ""),
        (TEMPLATE, "defaults.yaml", ""),
    ],
)
def test_a_place_has_an_address_if_there_is_a_template(template: str, place: str, url: str) -> None:
    assert file_url(template, place) == url


@pytest.mark.parametrize(("commit", "named"), [("4f1c2ab", "4f1c2ab"), ("", "HEAD")])
def test_an_address_names_the_commit(commit: str, named: str) -> None:
    url = file_url("https://git.example.com/blob/{commit}/{file}#L{line}", "ml.yaml:12", commit)

    assert url == f"https://git.example.com/blob/{named}/ml.yaml#L12"


@pytest.mark.parametrize(
    ("template", "ticket", "url"),
    [
        ("https://tracker.example.com/browse/{ticket}", "ML-1", "https://tracker.example.com/browse/ML-1"),
        (
            "https://tracker.example.com/{ticket}",
            '../a?b="c',
            "https://tracker.example.com/..%2Fa%3Fb%3D%22c",
        ),
        (
            "https://tracker.example.com/{ticket}",
            "https://other.example.com/7",
            "https://other.example.com/7",
        ),
        ("https://tracker.example.com/{ticket}", "", ""),
        ("", "ML-1", ""),
        ("", "javascript:alert(1)", ""),
    ],
)
def test_a_ticket_has_an_address(template: str, ticket: str, url: str) -> None:
    assert ticket_url(template, ticket) == url
