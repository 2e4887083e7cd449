"""Reading specifications of version 2, and choosing a version of the plugin."""

from __future__ import annotations

import json

import pytest
import yaml

from registry.plugins.documents.executors import Entrypoint, Executor
from registry.plugins.documents.spec_v2 import AssetParser, UnknownVersion, read_spec_v2

VALID = """\
version: 2
name: bq2bq
destination_urn_template: bigquery://<PROJECT>:<DATASET>.<TABLE>
asset_parsers:
  bq:
    - filepath: ./config.yaml
      selector: $.query
    - env: QUERY
plugin_versions:
  default:
    image: registry.example/team/bq2bq
    tag: "1.0"
    entrypoint:
      shell: /bin/bash
      script: run
  "3.6":
    tag: "3.6"
    init_image: registry.example/boot:36
  "3.10":
    image: registry.example/team/bq2bq-next
    entrypoint:
      script: run --next
  lts:
default_config:
  TEST: "{{.test}}"
requires_server: ">=0.1,<2"
"""


def errors(**fields) -> list[tuple[str, str]]:
    value = {**yaml.safe_load(VALID), **fields}
    return [(str(error.code), error.path) for error in read_spec_v2(json.dumps(value)).errors]


def version_errors(name="v", **fields) -> list[tuple[str, str]]:
    default = yaml.safe_load(VALID)["plugin_versions"]["default"]
    return errors(plugin_versions={"default": default, name: fields})


def test_a_valid_specification():
    reading = read_spec_v2(VALID)

    assert reading.diagnostics == ()
    spec = reading.content
    assert list(spec.versions) == ["default", "3.6", "3.10", "lts"]
    assert spec.asset_parsers == {"bq": (AssetParser("", "config.yaml", "$.query"), AssetParser("QUERY"))}
    assert spec.default_config == {"TEST": "{{.test}}"}


@pytest.mark.parametrize(
    ("version", "executor"),
    [
        ("default", Executor("registry.example/team/bq2bq:1.0", Entrypoint("run", "/bin/bash"))),
        ("lts", Executor("registry.example/team/bq2bq:1.0", Entrypoint("run", "/bin/bash"))),
        (
            "3.6",
            Executor(
                "registry.example/team/bq2bq:3.6", Entrypoint("run", "/bin/bash"), "registry.example/boot:36"
            ),
        ),
        ("3.10", Executor("registry.example/team/bq2bq-next:1.0", Entrypoint("run --next", "/bin/bash"))),
    ],
)
def test_a_version_overrides_field_by_field(version, executor):
    assert read_spec_v2(VALID).content.executor(version) == executor


def test_an_unknown_version_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UnknownVersion, match=r"Known versions: 3\.10, 3\.6, default, lts\."):
        read_spec_v2(VALID).content.executor("3.1")


@pytest.mark.parametrize("name", ["3.6", "3", "2026-01-01", "yes", "1e3", "0o7", "0x10", "~"])
def test_versions_that_look_like_other_values_must_be_quoted(name):
    text = VALID.replace("  lts:", f"  {name}:").replace('"3.6":', '"3.5":')

    (error,) = read_spec_v2(text).errors

    assert (str(error.code), error.line) == ("unquoted_version", 23)
    assert "Quote it" in error.hint
    assert error.path == f"/plugin_versions/{name.replace('~', '~0')}"


@pytest.mark.parametrize("field", ["version", "name", "plugin_versions"])
def test_required_fields(field):
    assert errors(**{field: None}) == [("required", "")]


@pytest.mark.parametrize("field", ["image", "tag", "entrypoint"])
def test_required_fields_of_the_default_version(field):
    default = {**yaml.safe_load(VALID)["plugin_versions"]["default"], field: None}

    assert errors(plugin_versions={"default": default}) == [("required", "/plugin_versions/default")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"version": 1}, ("invalid_value", "/version")),
        ({"version": "2"}, ("invalid_value", "/version")),
        ({"version": 2.0}, ("invalid_value", "/version")),
        ({"plugin_version": {}}, ("unknown_field", "/plugin_version")),
        ({"plugin_versions": {"1": {}}}, ("required", "/plugin_versions")),
        ({"destination_urn_template": "bigquery:<A>"}, ("invalid_value", "/destination_urn_template")),
        ({"destination_urn_template": "bigquery://<A"}, ("invalid_value", "/destination_urn_template")),
        ({"asset_parsers": {"spark": []}}, ("unknown_field", "/asset_parsers/spark")),
        ({"asset_parsers": {"bq": [{}]}}, ("invalid_value", "/asset_parsers/bq/0")),
        (
            {"asset_parsers": {"bq": [{"env": "A", "selector": "$"}]}},
            ("invalid_value", "/asset_parsers/bq/0/selector"),
        ),
        ({"asset_parsers": {"bq": [{"filepath": "../x"}]}}, ("invalid_path", "/asset_parsers/bq/0/filepath")),
        ({"default_config": {"A": 1}}, ("invalid_type", "/default_config/A")),
        ({"requires_server": ">>1"}, ("invalid_version", "/requires_server")),
    ],
)
def test_invalid_fields(fields, expected):
    assert errors(**fields) == [expected]


@pytest.mark.parametrize(
    ("fields", "code", "path"),
    [
        ({"tag": 3.6}, "unquoted_version", "/tag"),
        ({"tag": "a b"}, "invalid_image", "/tag"),
        ({"image": "host/a:1"}, "invalid_image", "/image"),
        ({"init_image": "A"}, "invalid_image", "/init_image"),
        ({"entrypoint": "run"}, "invalid_type", "/entrypoint"),
        ({"imgae": "host/a"}, "unknown_field", "/imgae"),
    ],
)
def test_invalid_fields_of_a_version(fields, code, path):
    assert version_errors(**fields) == [(code, f"/plugin_versions/v{path}")]


def test_all_errors_come_at_once_with_lines():
    text = (
        VALID.replace('"3.6":', "3.6:").replace('tag: "1.0"', "tag: 1.0").replace("version: 2", "version: 3")
    )

    found = [(str(error.code), error.line) for error in read_spec_v2(text).errors]
    assert found == [("invalid_value", 1), ("unquoted_version", 12), ("unquoted_version", 17)]
