"""The API reference of the console: index, filter, and a page for each operation."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from console.api_reference.library import library
from controlplane.identity.roles import Role
from tests.support.api_client import logged_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    return logged_in("jane", Role.VIEWER)


def test_the_index_lists_every_operation_once(browser: Client) -> None:
    page = browser.get("/api-reference").content.decode()

    listed = re.findall(r'href="/api-reference/(\w+)"', page)
    assert sorted(listed) == sorted(library().by_id)
    assert len(listed) > 300
    assert "<h2" in page


def test_a_filter_keeps_operations_with_all_words(browser: Client) -> None:
    page = browser.get("/api-reference?q=post+agents:drain").content.decode()

    assert re.findall(r'href="/api-reference/(\w+)"', page) == ["agents_bulk_drain"]
    nothing = browser.get("/api-reference?q=<b>nope").content.decode()
    assert "No operation contains these words." in nothing
    assert "<b>nope" not in nothing


def test_an_operation_says_what_it_takes_and_answers(browser: Client) -> None:
    page = browser.get("/api-reference/overrides_put").content.decode()

    assert "<code>PUT /api/v1/overrides/{resource_type}</code>" in page
    assert "<code>override.write</code>" in page
    assert "<code>If-Match</code>" in page
    assert "<code>attributes</code>" in page
    assert "<dt>428</dt>" in page
    assert "curl -X PUT" in page
    assert "style=" not in page


def test_operations_of_all_kinds_have_a_page(browser: Client) -> None:
    # Each page takes as long as a page does: a sample of all tags and methods.
    for operation_id in sorted(library().by_id)[::12]:
        answer = browser.get(f"/api-reference/{operation_id}")
        assert answer.status_code == 200, operation_id
        assert len(answer.content) < 300_000, operation_id


def test_every_operation_is_described() -> None:
    operations = library().by_id.values()

    assert [each.id for each in operations if not each.summary or not each.answers] == []


def test_an_unknown_operation_is_not_found(browser: Client) -> None:
    answer = browser.get("/api-reference/nope")

    assert answer.status_code == 404
    assert "Choose one from the API reference." in answer.content.decode()
    assert Client().get("/api-reference").status_code == 302
