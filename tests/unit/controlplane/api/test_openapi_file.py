"""The document of the API, parsed beforehand or when it is asked for."""

from __future__ import annotations

import pytest

from controlplane.api.openapi_file import parse, write_json

TEXT = b"openapi: 3.1.0\ntags: [{name: agents}]\n"
DOCUMENT = {"openapi": "3.1.0", "tags": [{"name": "agents"}]}


def test_it_is_the_same_from_the_json_and_from_the_yaml(tmp_path):
    written = tmp_path / "openapi.json"
    assert parse(TEXT, written) == DOCUMENT

    write_json(TEXT, written)

    assert parse(TEXT, written) == DOCUMENT


def test_the_json_is_read_and_not_the_yaml(tmp_path):
    written = tmp_path / "openapi.json"
    write_json(TEXT, written)
    written.write_text(written.read_text().replace("3.1.0", "from the JSON"))

    assert parse(TEXT, written)["openapi"] == "from the JSON"


@pytest.mark.parametrize("broken", ["", "{", "[]", "{}", '{"sha256": 1}'])
def test_a_broken_or_outdated_file_is_not_read(tmp_path, broken):
    written = tmp_path / "openapi.json"
    write_json(TEXT, written)

    assert parse(TEXT + b"info: {}\n", written) == {**DOCUMENT, "info": {}}
    written.write_text(broken)
    assert parse(TEXT, written) == DOCUMENT
