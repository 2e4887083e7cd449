"""Rotation: `manage.py rotate_secrets` seals every registered column with the newest key."""

from __future__ import annotations

import stat
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.secrets import sealed_columns
from controlplane.access.secrets.keys import parse_key_file
from controlplane.access.secrets.sealing import key_id_of, seal, unseal

# No table of the core has a sealed column yet that is easy to fill: any text column will do.
COLUMN = ("access.Principal", "password")
pytestmark = pytest.mark.django_db


def context_of(principal: Principal) -> str:
    return f"test/{principal.name}"


@pytest.fixture
def file(tmp_path: Path, settings, monkeypatch) -> Path:
    path = tmp_path / "secrets.keys"
    settings.SECRETS_KEY_FILE = str(path)
    monkeypatch.setattr(sealed_columns, "_columns", {})
    sealed_columns.register_sealed_column(*COLUMN, context_of)
    add_key(path)
    return path


def add_key(path: Path) -> str:
    call_command("rotate_secrets", "--new-key", str(path), stdout=StringIO())
    return parse_key_file(path.read_text()).newest


def rotate() -> str:
    output = StringIO()
    call_command("rotate_secrets", stdout=output, stderr=output)
    return output.getvalue()


def make(name: str, secret: bytes = b"plain") -> Principal:
    sealed = seal(secret, f"test/{name}") if secret else ""
    return Principal.objects.create(name=name, kind=PrincipalKind.SERVICE, password=sealed)


def stored(principal: Principal) -> str:
    return Principal.objects.values_list("password", flat=True).get(pk=principal.pk)


def test_every_secret_is_sealed_with_the_newest_key_and_the_old_key_can_go(file):
    rows = [make(f"p{number}", b"secret %d" % number) for number in range(5)]
    empty = make("empty", b"")
    newest = add_key(file)

    output = rotate()
    file.write_text(file.read_text().splitlines()[0] + "\n")

    assert "Encrypted 5 of 5 secrets again" in output
    assert "All other keys can now be removed" in output
    assert {key_id_of(stored(row)) for row in rows} == {newest}
    assert [unseal(stored(row), context_of(row)) for row in rows] == [b"secret %d" % n for n in range(5)]
    assert stored(empty) == ""


def test_a_second_rotation_changes_nothing(file):
    row = make("p1")
    add_key(file)
    rotate()
    before = stored(row)

    output = rotate()

    assert "Encrypted 0 of 1 secrets" in output
    assert stored(row) == before


def test_secrets_are_read_before_within_and_after_a_rotation(file, monkeypatch):
    rows = [make(f"p{number}") for number in range(3)]
    add_key(file)
    reseal, readings = sealed_columns._reseal_row, []

    def reseal_and_read(*arguments):
        reseal(*arguments)
        readings.extend(unseal(stored(row), context_of(row)) for row in rows)

    monkeypatch.setattr(sealed_columns, "_reseal_row", reseal_and_read)
    rotate()

    assert readings == [b"plain"] * 9


def test_a_secret_that_is_replaced_within_a_rotation_keeps_its_new_value(file, monkeypatch):
    row = make("p1")
    add_key(file)
    reseal = sealed_columns._reseal_row

    def replaced_before_its_turn(column, stale, *arguments):
        Principal.objects.filter(pk=row.pk).update(password=seal(b"newer", context_of(row)))
        reseal(column, stale, *arguments)

    monkeypatch.setattr(sealed_columns, "_reseal_row", replaced_before_its_turn)
    rotate()

    assert unseal(stored(row), context_of(row)) == b"newer"


def test_a_secret_that_cannot_be_read_is_named_and_the_others_are_rotated(file):
    lost, kept = make("lost"), make("kept")
    Principal.objects.filter(pk=lost.pk).update(password=stored(kept))
    newest = add_key(file)
    errors = StringIO()

    with pytest.raises(CommandError, match=r"1 secrets could not be decrypted\. Do not remove any key"):
        call_command("rotate_secrets", stdout=StringIO(), stderr=errors)

    assert str(lost.pk) in errors.getvalue()
    assert key_id_of(stored(kept)) == newest


def test_a_damaged_secret_under_the_newest_key_is_noticed_too(file):
    row = make("p1")
    Principal.objects.filter(pk=row.pk).update(password=stored(row)[:-4] + "AAAA")

    with pytest.raises(CommandError, match="could not be decrypted"):
        call_command("rotate_secrets", stdout=StringIO(), stderr=StringIO())


def test_without_keys_the_command_says_what_to_do(settings):
    settings.SECRETS_KEY_FILE = ""

    with pytest.raises(CommandError, match="SECRETS_KEY_FILE is not set"):
        call_command("rotate_secrets")


def test_a_new_key_goes_to_the_top_of_a_private_file(file):
    first = parse_key_file(file.read_text()).newest
    second = add_key(file)

    ring = parse_key_file(file.read_text())

    assert (ring.newest, sorted(ring.keys)) == (second, sorted([first, second]))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
