"""Reading specifications of version 1: what is valid, and each error at its place."""

from __future__ import annotations

import json

import pytest
import yaml

from registry.plugins.documents.executors import Entrypoint
from registry.plugins.documents.spec_v1 import Dialect, read_spec_v1

VALID = """\
name: bq2bq
description: BigQuery to BigQuery
plugintype: task
pluginmods: [cli, dependencyresolver]
pluginversion: 0.1.0
apiversion: ["v1"]
image: registry.example/team/bq2bq:0.1
entrypoint:
  shell: /bin/bash
  script: |
    cat <<END
    it's here
    END
    python3 /opt/bumblebee/main.py
questions:
  - name: PROJECT
    prompt: Project ID
    regexp: ^[a-z][a-z0-9-]+$
    minlength: 3
    required: true
  - name: LOAD_METHOD
    prompt: Load method
    multiselect: [APPEND, MERGE]
    default: MERGE
    subquestions:
      - ifvalue: MERGE
        questions:
          - name: KEY
            prompt: Key
defaultassets:
  - name: query.sql
    value: select 1;
defaultconfig:
  - name: TEST
    value: "{{.test}}"
"""


def errors(dialects=(), **fields) -> list[tuple[str, str]]:
    value = {**yaml.safe_load(VALID), **fields}
    return [(str(error.code), error.path) for error in read_spec_v1(json.dumps(value), dialects).errors]


def test_a_valid_specification():
    reading = read_spec_v1(VALID)

    assert reading.diagnostics == ()
    spec = reading.content
    assert (spec.name, spec.plugin_type, spec.version) == ("bq2bq", "task", "0.1.0")
    assert spec.executor.image == "registry.example/team/bq2bq:0.1"
    assert (spec.default_assets, spec.default_config) == ({"query.sql": "select 1;"}, {"TEST": "{{.test}}"})
    assert spec.questions[1].subquestions[0].questions[0].name == "KEY"


def test_newlines_of_the_script_are_kept():
    entrypoint = read_spec_v1(VALID).content.executor.entrypoint

    assert entrypoint.script.startswith("cat <<END\nit's here\nEND\n")
    assert entrypoint.shell == "/bin/bash"


def test_the_shell_has_a_default():
    value = {**yaml.safe_load(VALID), "entrypoint": {"script": "true"}}

    assert read_spec_v1(json.dumps(value)).content.executor.entrypoint == Entrypoint("true", "/bin/sh")


@pytest.mark.parametrize("field", ["name", "plugintype", "pluginversion", "image", "entrypoint"])
def test_required_fields(field):
    assert errors(**{field: None}) == [("required", "")]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"secretpath": "/opt"}, ("unknown_field", "/secretpath")),
        ({"init_image": "host/boot:1"}, ("unknown_field", "/init_image")),
        ({"plugintype": "taks"}, ("invalid_value", "/plugintype")),
        ({"hooktype": "pre"}, ("invalid_value", "/hooktype")),
        ({"plugintype": "hook"}, ("required", "")),
        ({"plugintype": "hook", "hooktype": "later"}, ("invalid_value", "/hooktype")),
        ({"pluginmods": ["cli", "gui"]}, ("invalid_value", "/pluginmods/1")),
        ({"pluginversion": 1.0}, ("unquoted_version", "/pluginversion")),
        ({"apiversion": [1]}, ("unquoted_version", "/apiversion/0")),
        ({"dependson": "predator"}, ("invalid_type", "/dependson")),
        ({"image": "registry.example/team/bq2bq"}, ("invalid_image", "/image")),
        ({"image": "no image"}, ("invalid_image", "/image")),
        ({"image": "a:${config.}"}, ("unknown_variable", "/image")),
        ({"entrypoint": "sleep 1"}, ("invalid_type", "/entrypoint")),
        ({"entrypoint": {"shell": "/bin/sh"}}, ("required", "/entrypoint")),
        ({"entrypoint": {"script": ""}}, ("invalid_value", "/entrypoint/script")),
        ({"entrypoint": {"script": "x", "shell": "/bin/sh -e"}}, ("invalid_value", "/entrypoint/shell")),
        ({"entrypoint": {"script": "x", "shell": "/a/../sh"}}, ("invalid_value", "/entrypoint/shell")),
        ({"entrypoint": {"script": "${config.a b}"}}, ("unknown_variable", "/entrypoint/script")),
        ({"defaultassets": [{"name": "../x"}]}, ("invalid_path", "/defaultassets/0/name")),
        ({"defaultassets": [{"value": "x"}]}, ("required", "/defaultassets/0")),
        ({"defaultconfig": [{"name": "A"}, {"name": "A"}]}, ("duplicate", "/defaultconfig/1/name")),
    ],
)
def test_invalid_fields(fields, expected):
    assert errors(**fields) == [expected]


def test_all_errors_come_at_once_with_lines():
    text = VALID.replace("task\n", "taks\n").replace("0.1.0", "1.0").replace("^[a-z]", "^(?=a)")

    found = [(str(error.code), error.line, error.column) for error in read_spec_v1(text).errors]
    assert found == [("invalid_value", 3, 13), ("unquoted_version", 5, 16), ("invalid_pattern", 18, 13)]


def test_an_init_image_needs_its_dialect():
    assert errors((Dialect.INIT_IMAGE,), init_image="host/boot:1") == []
    assert errors((Dialect.INIT_IMAGE,), init_image="NO") == [("invalid_image", "/init_image")]


def test_the_tag_latest_is_a_warning():
    reading = read_spec_v1(VALID.replace("bq2bq:0.1", "bq2bq:latest"))

    assert [(str(warning.code), warning.path) for warning in reading.warnings] == [
        ("mutable_image", "/image")
    ]


def test_templates_of_images_are_checked_after_substitution():
    assert errors(image="${config.executor_image}:${config.executor_version}") == []
