"""The API's description: served as committed, shown from our own files alone."""

import re

import pytest

from tests.support.api_client import Api
from tests.support.paths import ROOT


@pytest.fixture
def anyone(db):
    return Api()


def test_the_description_is_the_committed_file(anyone):
    answer = anyone.get("openapi.yaml")

    assert answer.status_code == 200
    assert answer.content == (ROOT / "openapi.yaml").read_bytes()


@pytest.mark.parametrize("page", ["docs", "redoc"])
def test_a_viewer_loads_nothing_from_outside(anyone, page):
    answer = anyone.get(page, Accept="text/html")

    text = answer.content.decode()
    assert answer.status_code == 200
    assert re.findall(r'(?:src|href)="(?:https?:)?//', text) == []
    assert "script-src 'self';" in answer["Content-Security-Policy"] + ";"


@pytest.mark.parametrize("page", ["docs", "redoc"])
def test_a_viewer_states_its_language_for_screen_readers(anyone, page):
    answer = anyone.get(page, Accept="text/html")

    assert '<html lang="en">' in answer.content.decode()
