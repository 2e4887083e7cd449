"""What `cpctl listen` forwards, where to, and how it is signed."""

from __future__ import annotations

import pytest

from cpctl.errors import UsageError
from cpctl.forwarding import check_address, is_selected, key_of, name_of, new_secret, signed_headers


def test_the_signature_is_that_of_standard_webhooks():
    """The vector of its documentation."""
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signed_headers(
        b'{"test": 2432232314}', key, message_id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp=1614265330
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_new_secret_has_32_bytes_and_differs_each_time():
    assert len(key_of(new_secret())) == 32
    assert new_secret() != new_secret()


@pytest.mark.parametrize("secret", ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_?"])
def test_a_text_that_is_no_secret_is_refused(secret):
    with pytest.raises(UsageError, match="base64"):
        key_of(secret)


@pytest.mark.parametrize("url", ["http://localhost:3000/hook", "http://127.0.0.1:1", "https://[::1]:9/x"])
def test_events_go_to_this_machine(url):
    check_address(url, allow_remote=False)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://192.0.2.7:3000/", "not this machine"),
        ("http://0.0.0.0:3000/", "not this machine"),
        ("http://127.0.0.1.invalid/", "not this machine"),
        ("http://127.0.0.1@192.0.2.7/", "not this machine"),
        ("ftp://localhost/", "not an address"),
        ("localhost:3000", "not an address"),
    ],
)
def test_events_go_nowhere_else_unless_that_is_allowed(url, message):
    with pytest.raises(UsageError, match=message):
        check_address(url, allow_remote=False)
    if message == "not this machine":
        check_address(url, allow_remote=True)


@pytest.mark.parametrize(
    ("types", "selected"),
    [([], True), (["agent.*"], True), (["agent.ready"], True), (["agent"], False), (["a.b", "x.*"], False)],
)
def test_types_select_by_name_and_kind(types, selected):
    assert is_selected(name_of({"type": "dev.controlplane.agent.ready.v1"}), types) is selected
