"""Only the exact address of the demo's receiver is excepted from the rules for outgoing requests."""

from __future__ import annotations

import pytest
from django.test import override_settings

from controlplane.errors import InvalidRequest
from controlplane.outgoing import check_target, is_demo_receiver
from controlplane.settings import outgoing


@override_settings(DEMO_RECEIVER="127.0.0.1:8044")
def test_the_receiver_is_allowed_and_nothing_else_on_this_machine():
    assert check_target("http://127.0.0.1:8044/archive", []).port == 8044
    for url in (
        "http://127.0.0.1:8045/archive",
        "https://127.0.0.1:8044/archive",
        "http://127.0.0.2:8044/archive",
        "http://localhost:8044/archive",
        "http://127.0.0.1/",
    ):
        with pytest.raises(InvalidRequest):
            check_target(url, [])


@override_settings(DEMO_RECEIVER="127.0.0.1:804")
def test_a_port_that_begins_alike_is_another_one():
    assert not is_demo_receiver("http://127.0.0.1:8044/archive")


@pytest.mark.parametrize("url", ["http://127.0.0.1:8044/", "http://", "http:///", ""])
def test_without_a_demo_there_is_no_exception(url):
    assert outgoing.DEMO_RECEIVER == ""
    assert not is_demo_receiver(url)
