"""Which snapshots of effective values may be used, and what they say."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from controlplane.signing_keys import Key
from cpctl.portable.snapshots import PAYLOAD_TYPE, SnapshotRefused, key_id, read_snapshot
from overrides.effective import signed_snapshots
from overrides.effective.signed_snapshots import envelope, payload

MADE, HOUR = datetime(2025, 11, 26, 12, tzinfo=UTC), timedelta(hours=1)
DEV = {"project": "flytesnacks", "domain": "development", "workflow": "", "launch_plan": ""}
ITEM = {"resource_type": "task_resource", "strategy": "merge", "attributes": {"limits": {"cpu": "2"}}}
CONTENT = {
    "created_at": MADE,
    "expires_at": MADE + 24 * HOUR,
    "revision": 41,
    "resource_type": "",
    "items": [{"scope": {"level": "project_domain", **DEV}, "items": [ITEM], "etag": '"1"'}],
}
PRIVATE, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


def pem(private) -> bytes:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


KEYS = (pem(PRIVATE),)


def key(private) -> Key:
    return Key(key_id(private.public_key().public_bytes_raw()), private)


def signed(content=CONTENT, *privates) -> dict:
    return envelope(payload(content), [key(private) for private in privates or (PRIVATE,)])


def read(sealed, *, keys=KEYS, now=MADE + HOUR, **how):
    return read_snapshot(json.dumps(sealed).encode(), keys, now=now, **how)


def test_both_sides_agree_on_what_is_signed():
    assert signed_snapshots.PAYLOAD_TYPE == PAYLOAD_TYPE
    assert payload(CONTENT) == payload(dict(reversed(CONTENT.items())))


def test_what_a_snapshot_says():
    found = read(signed())

    assert (found.revision, found.age(MADE + HOUR), found.is_live) == (41, HOUR, False)
    assert found.effective(DEV, "task_resource") == {"limits": {"cpu": "2"}}
    assert found.effective({"project": "flytesnacks", "domain": "development"}, "cluster_resource") == {}


@pytest.mark.parametrize(
    ("scope", "resource_type", "about"),
    [
        ({}, "task_resource", "no scope global"),
        ({"domain": "development"}, "task_resource", "no scope domain=development"),
        ({"projekt": "x"}, "task_resource", "A scope has only"),
    ],
)
def test_a_question_that_it_cannot_answer(scope, resource_type, about):
    with pytest.raises(KeyError, match=about):
        read(signed()).effective(scope, resource_type)


def test_a_snapshot_of_one_type_answers_for_no_other():
    with pytest.raises(KeyError, match="only task_resource"):
        read(signed({**CONTENT, "resource_type": "task_resource"})).effective(DEV, "cluster_resource")


def test_any_of_several_keys_is_enough():
    rotated = signed(CONTENT, OTHER, PRIVATE)

    assert read(rotated).revision == read(rotated, keys=(pem(OTHER), pem(PRIVATE))).revision == 41


def altered(**changes):
    return {**signed(), **changes}


TEXT = b64decode(signed()["payload"])


@pytest.mark.parametrize(
    ("sealed", "how", "about"),
    [
        (signed(CONTENT, OTHER), {}, "None of the given keys"),
        (altered(signatures=[]), {}, "None of the given keys"),
        (signed(), {"keys": ()}, "None of the given keys"),
        (altered(payload=b64encode(TEXT.replace(b'"2"', b'"9"')).decode()), {}, "None of the given keys"),
        (
            # The signature of another purpose, by the same key.
            altered(signatures=[{"keyid": key(PRIVATE).id, "sig": b64encode(PRIVATE.sign(TEXT)).decode()}]),
            {},
            "None of the given keys",
        ),
        (signed(), {"keys": (b"no PEM",)}, "no Ed25519 public key"),
        (signed(), {"keys": (pem(X25519PrivateKey.generate()),)}, "no Ed25519 public key"),
        (altered(payloadType="text/plain"), {}, "not a snapshot"),
        (altered(payload="?"), {}, "not a snapshot"),
        ([], {}, "not a snapshot"),
        (signed({"revision": 1}), {}, "another form"),
        (signed(), {"now": MADE + 25 * HOUR}, "expired at 2025-11-27"),
        (signed(), {"max_age": HOUR / 2}, "1:00:00 old"),
        (signed(), {"now": MADE - HOUR}, "from the future"),
    ],
)
def test_a_snapshot_that_must_not_be_used(sealed, how, about):
    with pytest.raises(SnapshotRefused, match=about):
        read(sealed, **how)


def test_the_reader_chooses_the_age():
    assert read(signed(), now=MADE + 48 * HOUR, max_age=72 * HOUR).revision == 41
    assert read(altered(signatures=[]), keys=None).revision == 41
