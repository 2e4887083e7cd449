"""The boot bundle: modes of its files, the same bytes each time, values that shells read unchanged."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.jobs.bundles import GROUP, bundle_files, quote, shell_assignments, write_tar
from registry.jobs.run_input import File, RunInput

INPUT = RunInput(
    envs={"TABLE": "orders", "DAY": "é"},
    secrets={"PASSWORD": "it's"},
    files={"sql/query.sql": File("select 1"), "sql/key.json": File("{}", is_sensitive=True)},
)
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]


def test_secrets_are_for_the_group_alone_and_the_script_can_be_run():
    modes = {file.name: oct(file.mode) for file in bundle_files(INPUT, "run\n\n")}
    assert modes == {
        "entrypoint": "0o555",
        "env": "0o444",
        "env.json": "0o444",
        "secret": "0o440",
        "sql/key.json": "0o440",
        "sql/query.sql": "0o444",
    }


def test_the_files_have_what_their_names_say():
    content = {file.name: file.content.decode() for file in bundle_files(INPUT, "run <<X\n  a\nX\n\n")}
    assert content["env"] == "DAY='é'\nTABLE='orders'\n"
    assert content["secret"] == "PASSWORD='it'\\''s'\n"
    assert json.loads(content["env.json"]) == INPUT.envs
    assert content["entrypoint"] == "run <<X\n  a\nX\n"
    assert content["sql/query.sql"] == "select 1"


def test_an_archive_has_folders_first_and_the_same_bytes_each_time():
    files = bundle_files(INPUT, "run")
    assert write_tar(files) == write_tar(bundle_files(INPUT, "run"))
    with tarfile.open(fileobj=io.BytesIO(write_tar(files))) as archive:
        members = archive.getmembers()
    assert [member.name for member in members if member.isdir()] == ["in", "in/sql"]
    assert {member.gid for member in members} == {GROUP}
    assert {member.mtime for member in members} == {0}


@settings(max_examples=300)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=60))
def test_a_quoted_value_has_no_quote_of_its_own(value):
    quoted = quote(value)
    assert quoted.replace("'\\''", "").count("'") == 2
    assert quoted[1:-1].replace("'\\''", "'") == value


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_reads_values_unchanged(shell):
    hard = 'it\'s $HOME `id` "q"\n\\n \\ two\ttabs é $(id) !x *'
    command = [shell, "sh"] if shell == "busybox" else [shell]
    program = shell_assignments({"VALUE": hard}) + "printf '%s' \"$VALUE\""
    ran = subprocess.run([*command, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == hard
