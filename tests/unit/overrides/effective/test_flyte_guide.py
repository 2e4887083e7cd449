"""Each YAML snippet of Flyte's guide: reproduced by a rendering or a preview, or named as not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.formats import strict_yaml
from overrides.effective.flyte_helm import Chart, helm_values
from overrides.pods.gpus import Accelerator
from overrides.pods.merging import plain
from overrides.pods.preview import Configuration, Namespaces, Task, preview
from overrides.resource_types import ResourceType
from overrides.resource_types.operators import define
from tests.support.paths import ROOT
from tests.unit.overrides.pods import test_guide_examples

PAGES = yaml.safe_load(Path(__file__).with_name("flyte_guide.yaml").read_text())
SNIPPETS = [(page["page"], snippet) for page in PAGES for snippet in page["snippets"]]
GUIDE = ROOT / "docs" / "guides" / "flyte-configuration.md"
# YAML blocks of the pages, counted in their source of v1.16.8.
COUNTS = {
    "Configuring logging links in the UI": 5,
    "Configuring access to GPUs": 19,
    "Configuring task pods with K8s PodTemplates": 9,
    "Secrets": 1,
    "Optimizing Performance": 6,
}


def example_type(name: str) -> ResourceType:
    text = (ROOT / "examples" / "resource-types" / f"{name}.yaml").read_text()
    return define(strict_yaml.load(text)["definition"], version=1)


def at(document: Any, path: str) -> Any:
    """Return the value at a path of names with dots; names of settings have none."""
    for name in path.split("."):
        document = document[name]
    return document


def rows() -> list[str]:
    found = []
    for page, each in SNIPPETS:
        by = "rendering" if "rendering" in each else "preview" if each.keys() & {"preview", "golden"} else "–"
        types = ", ".join(f"`{name}`" for name in each.get("rendering", {}))
        of = f"{by} of {types}" if types else by
        what = f"{each['what']} ({each['chart']})" if "chart" in each else each["what"]
        found.append(f"| {page} | {each['heading']} | {what} | {of} | {each.get('why', '')} |")
    return found


def test_every_snippet_of_each_page_is_listed():
    assert {page["page"]: len(page["snippets"]) for page in PAGES} == COUNTS
    for _, each in SNIPPETS:
        assert each.keys() & {"rendering", "preview", "golden", "why"}


@pytest.mark.parametrize(
    "snippet", [each for _, each in SNIPPETS if "rendering" in each], ids=lambda each: each["what"]
)
def test_a_rendering_has_the_values_of_the_guide(snippet):
    for name, attributes in snippet["rendering"].items():
        assert example_type(name).errors(attributes) == []
    values = helm_values(snippet["rendering"].items(), Chart(snippet.get("chart", "flyte-core")))
    assert values.left_out == ()
    for path, expected in snippet["values"].items():
        assert at(values.content, path) == expected


@pytest.mark.parametrize(
    "snippet", [each for _, each in SNIPPETS if "preview" in each], ids=lambda each: each["heading"]
)
def test_a_pod_has_the_values_of_the_guide(snippet):
    of = snippet["preview"]
    assert example_type("gpu_node_labels").errors(of["gpu_node_labels"]) == []
    gpu = {"resources": {"requests": {"gpu": "1"}}}
    task = Task(container=gpu, accelerator=Accelerator(**of.get("accelerator", {})))
    found = preview(task, [], Configuration(gpu_node_labels=of["gpu_node_labels"]), Namespaces("a"))
    for path, expected in snippet["values"].items():
        assert at(plain(found.spec), path) == expected


def test_the_examples_of_pods_are_golden_tests():
    for _, each in SNIPPETS:
        if "golden" in each:
            assert any(name.startswith(each["golden"]) for name in vars(test_guide_examples)), each


def test_the_guide_has_the_table():
    text = GUIDE.read_text()
    assert [row for row in rows() if row not in text] == []
    assert text.count("\n| ") >= len(SNIPPETS)
