"""Credentials whose look-up hangs, fails, or ends well."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from controlplane.delivery import ambient_identity
from controlplane.delivery.ambient_identity import AmbientIdentity, Credentials, IdentityUnavailable


def test_all_threads_share_one_look_up_until_it_is_old():
    calls = []

    def look_up() -> Credentials[int]:
        time.sleep(0.05)
        calls.append(1)
        return Credentials(len(calls), 0.2)

    identity = AmbientIdentity("Moon", look_up)
    with ThreadPoolExecutor(8) as threads:
        assert {*threads.map(lambda _: identity.current(), range(8))} == {1}
    time.sleep(0.3)
    assert identity.current() == 2


def test_a_look_up_that_hangs_is_waited_for_in_limits_and_replaced(monkeypatch):
    monkeypatch.setattr(ambient_identity, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(ambient_identity, "ABANDONED_SECONDS", 0.2)
    release, begun = threading.Event(), []

    def look_up() -> Credentials[int]:
        begun.append(1)
        if len(begun) == 1:
            release.wait(30)
        return Credentials(len(begun), 60)

    identity = AmbientIdentity("Moon", look_up)
    for _ in range(2):
        with pytest.raises(IdentityUnavailable, match="credentials of Moon are still looked up"):
            identity.current()
    assert len(begun) == 1
    time.sleep(0.2)
    assert identity.current() == 2
    release.set()


def test_an_error_is_named_without_its_text_and_tried_again():
    answers = [ValueError("aws_secret_access_key=hidden"), IdentityUnavailable("There is no role.")]

    def look_up() -> Credentials[int]:
        if answers:
            raise answers.pop(0)
        return Credentials(1, 60)

    identity = AmbientIdentity("Moon", look_up)
    with pytest.raises(IdentityUnavailable) as refused:
        identity.current()
    assert str(refused.value) == "The relay's credentials of Moon cannot be read (ValueError)."
    with pytest.raises(IdentityUnavailable, match="There is no role"):
        identity.current()
    assert identity.current() == 1


def test_credentials_that_were_not_accepted_are_looked_up_again():
    calls = []

    def look_up() -> Credentials[int]:
        calls.append(1)
        return Credentials(len(calls), 60)

    identity = AmbientIdentity("Moon", look_up)
    assert (identity.current(), identity.current()) == (1, 1)
    identity.forget()
    assert identity.current() == 2
