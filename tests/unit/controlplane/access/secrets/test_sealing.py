"""Sealed secrets: encrypted, bound to their place, and readable with every key that the file still has."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from controlplane.access.secrets import key_file
from controlplane.access.secrets.keys import InvalidKeyFile, KeyRing, new_key_line, parse_key_file
from controlplane.access.secrets.sealing import key_id_of, seal, seal_with, unseal, unseal_with
from controlplane.errors import SecretsUnavailable

OLD, NEW = os.urandom(32), os.urandom(32)
RING = KeyRing("new", {"new": NEW, "old": OLD})
PLAIN = b"client secret"


@pytest.fixture
def file(tmp_path: Path, settings) -> Path:
    path = tmp_path / "secrets.keys"
    settings.SECRETS_KEY_FILE = str(path)
    write(path, new_key_line("a"))
    return path


def write(path: Path, text: str) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(text)
    draft.chmod(0o600)
    draft.replace(path)


def test_a_sealed_secret_is_read_back_and_shows_nothing_of_the_plain_text():
    sealed = seal_with(RING, PLAIN, "provider/1")

    assert unseal_with(RING, sealed, "provider/1") == PLAIN
    assert sealed.startswith("v1.new.")
    assert PLAIN not in base64.urlsafe_b64decode(sealed.split(".")[2] + "==")
    assert seal_with(RING, PLAIN, "provider/1") != sealed


def test_the_first_key_seals_and_every_key_unseals():
    sealed = seal_with(KeyRing("old", {"old": OLD}), PLAIN, "x")

    assert unseal_with(RING, sealed, "x") == PLAIN
    assert key_id_of(seal_with(RING, PLAIN, "x")) == "new"


def test_a_secret_of_one_place_cannot_be_used_in_another():
    sealed = seal_with(RING, PLAIN, "provider/1")

    with pytest.raises(SecretsUnavailable, match="cannot be decrypted"):
        unseal_with(RING, sealed, "provider/2")


def test_the_key_id_is_authenticated_too():
    same_key = KeyRing("new", {"new": NEW, "renamed": NEW})
    sealed = seal_with(same_key, PLAIN, "x").replace("v1.new.", "v1.renamed.")

    with pytest.raises(SecretsUnavailable):
        unseal_with(same_key, sealed, "x")


@pytest.mark.parametrize("position", [0, 11, 12, 20, -1])
def test_every_changed_byte_is_noticed(position):
    head, key_id, encoded = seal_with(RING, PLAIN, "x").split(".")
    data = bytearray(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    data[position] ^= 1
    changed = ".".join((head, key_id, base64.urlsafe_b64encode(bytes(data)).decode().rstrip("=")))

    with pytest.raises(SecretsUnavailable):
        unseal_with(RING, changed, "x")


@pytest.mark.parametrize(
    "value", ["", "secret", "v1", "v1.new", "v1.new.", "v1.new.AA", "v2.new.AAAA", "v1.new.é"]
)
def test_a_value_that_was_never_sealed_is_refused(value):
    with pytest.raises(SecretsUnavailable):
        unseal_with(RING, value, "x")


def test_a_missing_key_and_a_wrong_key_are_told_apart():
    sealed = seal_with(KeyRing("old", {"old": OLD}), PLAIN, "x")

    with pytest.raises(SecretsUnavailable, match="'old' of a stored secret is not in SECRETS_KEY_FILE"):
        unseal_with(KeyRing("new", {"new": NEW}), sealed, "x")
    with pytest.raises(SecretsUnavailable, match="cannot be decrypted with the key 'old'"):
        unseal_with(KeyRing("old", {"old": NEW}), sealed, "x")


def test_a_key_ring_never_prints_its_keys():
    assert repr(RING) == "KeyRing(newest='new', 2 keys)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no key"),
        ("# only a comment\n", "contains no key"),
        ("abc", "Line 1 is not"),
        ("a b:AAAA", "Line 1 is not"),
        ("a:***", "line 1 is not valid base64"),
        ("a:" + base64.b64encode(b"short").decode(), "has 5 bytes instead of 32"),
        (
            "a:" + base64.b64encode(bytes(32)).decode() + "\na:" + base64.b64encode(bytes(32)).decode(),
            "Line 2 repeats the key id 'a'",
        ),
    ],
)
def test_a_faulty_key_file_is_refused_without_quoting_a_key(text, message):
    with pytest.raises(InvalidKeyFile, match=message) as refused:
        parse_key_file(text)

    assert all(line.partition(":")[2] not in str(refused.value) for line in text.splitlines() if ":" in line)


def test_a_new_key_is_used_without_a_restart_and_the_old_one_still_reads(file):
    before = seal(PLAIN, "x")
    write(file, new_key_line("b") + file.read_text())

    after = seal(PLAIN, "x")

    assert (key_id_of(before), key_id_of(after)) == ("a", "b")
    assert unseal(before, "x") == unseal(after, "x") == PLAIN


def test_a_file_that_becomes_invalid_does_not_interrupt_a_running_process(file):
    sealed = seal(PLAIN, "x")
    write(file, "half a li")

    assert unseal(sealed, "x") == PLAIN
    file.unlink()
    assert unseal(sealed, "x") == PLAIN


@pytest.mark.parametrize("mode", [0o644, 0o620, 0o604, 0o666])
def test_a_file_that_others_can_read_is_refused(file, mode):
    file.chmod(mode)

    with pytest.raises(SecretsUnavailable, match="chmod 600"):
        seal(PLAIN, "x")


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o640])
def test_a_private_file_and_one_of_the_pods_group_are_accepted(file, mode):
    file.chmod(mode)

    assert unseal(seal(PLAIN, "x"), "x") == PLAIN


def test_without_a_key_file_the_error_says_how_to_make_one(settings):
    settings.SECRETS_KEY_FILE = ""

    with pytest.raises(SecretsUnavailable, match="rotate_secrets --new-key"):
        seal(PLAIN, "x")


def test_a_missing_file_is_named(settings, tmp_path):
    settings.SECRETS_KEY_FILE = str(tmp_path / "none")
    assert key_file._last_reading is None or key_file._last_reading.path != settings.SECRETS_KEY_FILE

    with pytest.raises(SecretsUnavailable, match="cannot be used"):
        seal(PLAIN, "x")
