"""Errors about variables of links, through the example type that declares them."""

from __future__ import annotations

import pytest

from controlplane.formats import strict_yaml
from overrides.resource_types.operators import define
from tests.support.paths import ROOT

DEFINITION = strict_yaml.load((ROOT / "examples/resource-types/task_log_links.yaml").read_text())[
    "definition"
]
LINKS = define(DEFINITION, version=1)


def message_of(uri: str) -> str:
    (error,) = LINKS.errors({"links": [{"name": "a", "template_uris": [uri]}]})
    return error.message


@pytest.mark.parametrize(
    ("uri", "advice"),
    [
        ("https://a/{{ .podNam }}", "Unknown variable 'podNam'. Did you mean 'podName'?"),
        ("https://a/{{.podName}}/{{ .containerID }}", "Did you mean 'containerId'?"),
        ("https://a/{{ .zzz }}", "Unknown variable 'zzz'. Use one of podName, podUID"),
        ("https://a/{{ podName }}", "Write {{ .podName }}, with a dot."),
        ("https://a/{{  .podName  }}", "with one space at each side."),
        ('https://a/{{ "{{" }} .podName {{ "}}" }}', "an escape of Helm"),
        ("https://a/{{ .taskConfig. }}", "Unknown variable"),
    ],
)
def test_an_error_names_what_is_wrong_with_a_variable(uri, advice):
    assert advice in message_of(uri)


def test_the_pattern_and_the_list_name_the_same_variables():
    template = DEFINITION["schema"]["$defs"]["template"]
    for name in template["x-variables"]:
        uri = f"https://a/{{{{ .{name}{'x' if name.endswith('.') else ''} }}}}"
        assert LINKS.errors({"links": [{"name": "a", "template_uris": [uri]}]}) == [], name
    assert sum(name in template["pattern"] for name in template["x-variables"][:-1]) == 22
