"""The resource types that we ship as examples: each can be applied, set and resolved as it is."""

from __future__ import annotations

import pytest

from controlplane.formats import strict_yaml
from tests.support.api_client import make_project
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "resource-types"
FILES = sorted(FOLDER.glob("*.yaml"))


def test_the_five_that_flytes_guide_would_want_are_there():
    names = {"default_pod_template", "gpu_node_labels", "notification_defaults", "task_log_links"}
    assert {path.stem for path in FILES} == {*names, "workflow_priority"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_type_works_from_its_file_to_an_effective_value(api, path):
    make_project()
    example = strict_yaml.load(path.read_text())["definition"]["example"]

    applied = api.post("overrides:apply", path.read_bytes(), Content_Type="application/yaml")
    again = api.post("overrides:apply", path.read_bytes(), Content_Type="application/yaml")
    written = api.put(f"overrides/{path.stem}?project=flytesnacks", {"attributes": example})
    (answer,) = api.get(f"overrides/effective?project=flytesnacks&resource_type={path.stem}").json()["items"]

    assert applied.json()["installation"] == [
        {"kind": "resourceType", "name": path.stem, "change": "created"}
    ]
    assert again.json()["installation"] == []
    assert written.status_code == 201
    assert example.items() <= answer["attributes"].items()
