"""Requests in progress: who sent them, without asking anybody."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils.functional import SimpleLazyObject

from controlplane.observability.requests_in_progress import RequestsInProgress


def refuse() -> object:
    raise AssertionError("The session is read.")


@pytest.mark.parametrize(
    ("make_user", "name"),
    [
        (lambda: None, ""),
        (lambda: SimpleLazyObject(refuse), ""),
        (lambda: SimpleNamespace(name="jane"), "jane"),
        (SimpleNamespace, ""),
    ],
)
def test_a_principal_is_shown_once_it_is_known(make_user: Callable[[], Any], name: str) -> None:
    requests, request = RequestsInProgress(), RequestFactory().get("/overrides")
    request.user = make_user()  # as middleware and DRF do
    requests.begin(request)

    (observed,) = requests.observed()

    assert (observed.principal, observed.path) == (name, "/overrides")


def test_a_lazy_principal_that_was_read_is_shown() -> None:
    requests, request = RequestsInProgress(), RequestFactory().get("/overrides")
    request.user = SimpleLazyObject(lambda: SimpleNamespace(name="jane"))  # type: ignore[assignment]
    str(request.user)
    requests.begin(request)

    assert requests.observed()[0].principal == "jane"
