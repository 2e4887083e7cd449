import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from controlplane.delivery.signing import SigningSecret, check_secret, new_secret, sign, webhook_headers
from controlplane.errors import InvalidRequest


def test_the_published_vector():
    secret = SigningSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signature = sign(
        b'{"test": 2432232314}',
        secret.key,
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_an_independent_verifier_accepts_both_secrets_of_a_rotation_and_refuses_a_changed_byte():
    now = datetime.now(UTC)
    old, new = new_secret(), new_secret()
    body = json.dumps({"a": 1}).encode()
    signing_secrets = [SigningSecret(new), SigningSecret(old, ends_at=now + timedelta(hours=24))]
    headers = webhook_headers(body, message_id="id-1", signing_secrets=signing_secrets, now=now)
    for secret in (old, new):
        assert Webhook(secret).verify(body, headers) == {"a": 1}
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body.replace(b"1", b"2"), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers)


def test_a_secret_that_has_ended_no_longer_signs_and_an_old_message_is_refused():
    now = datetime.now(UTC)
    secret = new_secret()
    ended = SigningSecret(new_secret(), ends_at=now)
    headers = webhook_headers(b"{}", message_id="x", signing_secrets=[SigningSecret(secret), ended], now=now)
    assert headers["webhook-signature"].count("v1,") == 1
    signing_secrets = [SigningSecret(secret)]
    old = webhook_headers(
        b"{}", message_id="x", signing_secrets=signing_secrets, now=now - timedelta(minutes=6)
    )
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(b"{}", old)


@pytest.mark.parametrize("size", [24, 32, 64])
def test_secrets_of_allowed_sizes(size):
    check_secret("whsec_" + base64.b64encode(b"x" * size).decode())


@pytest.mark.parametrize(
    "text", ["", "abc", "whsec_", "whsec_%%%", "whsec_" + base64.b64encode(b"x" * 23).decode()]
)
def test_other_secrets_are_refused(text):
    with pytest.raises(InvalidRequest, match="24 to 64 bytes"):
        check_secret(text)
