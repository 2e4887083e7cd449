"""Links to the files of overrides at a Git host."""

from __future__ import annotations

import pytest

from console.file_links import file_url

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
