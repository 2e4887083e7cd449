"""The pods of the examples of Flyte's guide, by what FlytePropeller 1.16 does.

The guide prints something else in four places. The code decides, which tests/nightly/test_flyte_pods.py runs:

* Examples 2 and 3 print a container `default`: PodTemplates add no containers.
* Example 1 prints `foo: overridden-value`, and example 3 `value-plugin` for `label_1` and `annotation_1`:
  default labels and annotations rank below those of PodTemplates and tasks, whose values apply.
* Example 3 leaves out `label_3` of the PodTemplate.
"""

from __future__ import annotations

from typing import Any

from overrides.pods.merging import plain, sources
from overrides.pods.preview import Configuration, Namespaces, PodTemplate, Preview, Task, preview
from tests.unit.overrides.pods.guide_examples import EXAMPLE_1, EXAMPLE_2, EXAMPLE_3, NOOP, PRIMARY


def pod_of(case: dict[str, Any]) -> Preview:
    templates = [
        PodTemplate(each["metadata"]["namespace"], each["metadata"]["name"], **each["template"])
        for each in case["templates"]
    ]
    configuration = Configuration(**case["configuration"])
    return preview(Task(**case["task"]), templates, configuration, Namespaces("flytesnacks-development"))


def test_example_1_a_pod_template_and_the_plugin():
    found = pod_of(EXAMPLE_1)
    assert plain(found.metadata) == {
        "namespace": "flytesnacks-development",
        "labels": {"foo": "from-pod-template", "bar": "from-default-label"},
        "annotations": {"foo": "initial-value", "bar": "initial-value", "baz": "non-overridden-value"},
    }
    assert plain(found.spec) == {
        "containers": [
            {
                "name": "task",
                "image": "flytecookbook:core",
                "terminationMessagePath": "/dev/foo",
                "terminationMessagePolicy": "FallbackToLogsOnError",
            }
        ],
        "hostNetwork": True,
        "restartPolicy": "Never",
    }
    assert found.notes == ("default_annotations: foo does not apply, because the PodTemplate sets it.",)


def test_example_1_says_where_each_value_is_from():
    found = pod_of(EXAMPLE_1)
    of_metadata = {at: source.kind for at, source in sources(found.metadata)}
    of_spec = {at: source.kind for at, source in sources(found.spec)}
    assert of_metadata == {
        "/namespace": "flyte",
        "/labels/foo": "pod_template",
        "/labels/bar": "k8s_plugin",
        "/annotations/foo": "pod_template",
        "/annotations/bar": "pod_template",
        "/annotations/baz": "k8s_plugin",
    }
    assert of_spec == {
        "/containers/0/name": "task",
        "/containers/0/image": "task",
        "/containers/0/terminationMessagePath": "pod_template",
        "/containers/0/terminationMessagePolicy": "flyte",
        "/hostNetwork": "k8s_plugin",
        "/restartPolicy": "flyte",
    }


def test_example_2_two_pod_templates():
    found = pod_of(EXAMPLE_2)
    assert plain(found.metadata) == {
        "namespace": "flytesnacks-development",
        "labels": {"label_1": "value-1", "label_2": "value-2"},
        "annotations": {"annotation_1": "value-1", "annotation_2": "value-2", "bar": "initial-value"},
    }
    assert plain(found.spec)["containers"] == [{**NOOP, **PRIMARY}]


def test_example_3_two_pod_templates_and_the_plugin():
    found = pod_of(EXAMPLE_3)
    assert plain(found.metadata) == {
        "namespace": "flytesnacks-development",
        "labels": {"label_1": "value-compile", "label_2": "value-compile", "label_3": "value-runtime"},
        "annotations": {
            "annotation_1": "value-compile",
            "annotation_2": "value-compile",
            "foo": "value-runtime",
            "bar": "value-runtime",
            "baz": "value-plugin",
        },
    }
    assert plain(found.spec)["containers"] == [{**NOOP, **PRIMARY}]
    assert plain(found.spec)["hostNetwork"] is True
