"""`cpctl effective verify`, and scopes as options."""

from __future__ import annotations

import json

import pytest

from cpctl.commands.effective import _scope, verify
from cpctl.errors import Failed, UsageError
from cpctl.exits import Exit
from cpctl.output import Format
from tests.unit.cpctl.test_snapshots import CONTENT, OTHER, PRIVATE, pem, signed


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "values.json").write_text(json.dumps(signed()))
    (tmp_path / "public.pem").write_bytes(pem(PRIVATE))
    (tmp_path / "other.pem").write_bytes(pem(OTHER))
    return tmp_path


def check(folder, *keys, file="values.json", age=10**9, output=Format.TABLE):
    paths = [folder / name for name in keys or ("public.pem",)]
    verify(folder / file, key=paths, max_age_seconds=age, output=output)


def test_a_verified_snapshot_says_what_it_has(folder, capsys):
    check(folder, "other.pem", "public.pem")
    first, second = capsys.readouterr().out.splitlines()
    assert "verified, revision 41, 1 scope" in first
    assert second == "  project=flytesnacks domain=development: task_resource"

    check(folder, output=Format.JSON)
    found = json.loads(capsys.readouterr().out)
    assert (found["revision"], found["items"][0]["etag"]) == (41, CONTENT["items"][0]["etag"])


def test_a_snapshot_that_must_not_be_used_exits_with_1(folder):
    for how in ({"age": 1}, {"age": None}):
        with pytest.raises(Failed) as refused:
            check(folder, **how)
        assert refused.value.exit == Exit.DIFFERS
    with pytest.raises(Failed, match="None of the given keys"):
        check(folder, "other.pem")


def test_a_file_that_cannot_be_read_is_named(folder):
    for wrong in ({"file": "absent.json"}, {"file": "."}):
        with pytest.raises(UsageError, match="cannot be read"):
            check(folder, **wrong)


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("global", {}),
        ("domain=development", {"domain": "development"}),
        ("project=a domain=b workflow=c=d", {"project": "a", "domain": "b", "workflow": "c=d"}),
    ],
)
def test_scopes_are_written_as_they_are_printed(text, scope):
    assert _scope(text) == scope


@pytest.mark.parametrize("text", ["", " ", "flytesnacks", "projct=a", "project=", "global domain=b"])
def test_other_scopes_are_refused(text):
    with pytest.raises(UsageError, match="is not a scope"):
        _scope(text)
