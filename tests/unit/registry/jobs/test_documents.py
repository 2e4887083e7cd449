"""job.yaml: what is read, and every error and warning with its position."""

from __future__ import annotations

import pytest

from registry.jobs.documents import read_job
from registry.jobs.job_spec import (
    Dependency,
    HttpDependency,
    JobSpec,
    Metadata,
    Notification,
    Resources,
    Retry,
    Schedule,
    Step,
)
from registry.jobs.windows import Window

FULL = """\
version: 1
name: sample-project.playground.table1
owner: sample_owner
description: ""
schedule: {start_date: "2023-01-26", end_date: "", interval: "0 2 * * *"}
behavior:
  depends_on_past: false
  retry: {count: 3, delay: 5m, exponential_backoff: false}
  notify: [{on: failure, config: {}, channels: ["slack://#x"]}]
task:
  name: bq2bq
  config: {PROJECT: p, SQL_TYPE: "{{ .proj.TYPE }}"}
  window: {size: 24h, offset: "0", truncate_to: d}
hooks: [{name: transporter, config: {A: b}}]
dependencies:
- {job: other-project/other.job, type: ""}
- http: {name: x, params: {a: b}, url: "http://x", headers: {}}
labels: {orchestrator: optimus}
metadata:
  resource: {request: {memory: 512Mi, cpu: 250m}, limit: {memory: 1Gi}}
  airflow: {pool: p, queue: ""}
"""
SMALL = """\
version: 2
name: a.b
owner: team
schedule: {start_date: 2023-01-26, interval: "@daily"}
task: {name: bq2bq}
"""


def test_the_whole_document_is_read():
    document = read_job(FULL)

    assert (document.errors, document.warnings) == ((), ())
    assert document.job == JobSpec(
        version=1,
        name="sample-project.playground.table1",
        owner="sample_owner",
        schedule=Schedule("2023-01-26", "", "0 2 * * *"),
        task=Step("bq2bq", {"PROJECT": "p", "SQL_TYPE": "{{ .proj.TYPE }}"}),
        window=Window(1, "d", "0", "24h"),
        retry=Retry(3, 300 * 10**9),
        notifications=(Notification("failure", {}, ("slack://#x",)),),
        hooks=(Step("transporter", {"A": "b"}),),
        dependencies=(
            Dependency("other-project/other.job"),
            Dependency(http=HttpDependency("x", "http://x", {"a": "b"}, {})),
        ),
        labels={"orchestrator": "optimus"},
        metadata=Metadata(Resources("512Mi", "250m"), Resources("1Gi"), "p"),
    )


def test_only_five_fields_are_required():
    job = read_job(SMALL).job

    assert job is not None
    assert (job.window, job.hooks, job.metadata) == (Window(2), (), Metadata())


def test_a_window_at_the_top_level_is_accepted_with_a_warning():
    document = read_job(SMALL + "window: {size: 1M, offset: 0, truncate_to: M}\n")

    assert document.job is not None
    assert document.job.window == Window(2, "M", "0", "1M")
    assert [(warning.pointer, warning.code, warning.line) for warning in document.warnings] == [
        ("/window", "misplaced", 6)
    ]


def test_two_windows_are_an_error():
    document = read_job(FULL + "window: {size: 24h}\n")

    assert document.job is None
    assert [(error.pointer, error.code) for error in document.errors] == [("/window", "duplicate")]


def test_all_errors_are_reported_in_the_order_of_the_document():
    document = read_job(
        """\
version: 3
name: a/b
ownr: team
schedule: {start_date: 26.1.2023, interval: often}
behavior: {retry: {count: -1, delay: soon}, notify: {}}
task:
  config: {NUMBER: 5, "A B": x, T: "a\\n{{ upper .x }}"}
  window: {size: -24h}
hooks: [{name: h}, {name: h}, 7]
dependencies: [{type: x}]
"""
    )

    assert document.job is None
    assert [(error.pointer, error.code, error.line) for error in document.errors] == [
        ("", "required", 1),
        ("/version", "invalid_value", 1),
        ("/name", "invalid_value", 2),
        ("/ownr", "unknown_field", 3),
        ("/schedule/start_date", "invalid_value", 4),
        ("/schedule/interval", "invalid_value", 4),
        ("/behavior/retry/count", "invalid_value", 5),
        ("/behavior/retry/delay", "invalid_value", 5),
        ("/behavior/notify", "invalid_type", 5),
        ("/task", "required", 7),
        ("/task/config/NUMBER", "invalid_type", 7),
        ("/task/config/A B", "invalid_name", 7),
        ("/task/config/T", "invalid_template", 7),
        ("/task/window/size", "invalid_window", 8),
        ("/hooks/1/name", "duplicate", 9),
        ("/hooks/2", "invalid_type", 9),
        ("/dependencies/0", "required", 10),
    ]
    assert "Did you mean owner?" in next(error.hint for error in document.errors if error.pointer == "/ownr")
    template = next(error for error in document.errors if error.code == "invalid_template")
    assert template.message.endswith("Line 2, column 4 of the template.")


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: [", "malformed", 2),
        ("a: 1\na: 2", "malformed", 2),
        ("a: &x 1", "malformed", 1),
        ("", "malformed", 0),
        ("- a", "invalid_type", 1),
        ("x" * (1024 * 1024 + 1), "too_large", 0),
    ],
)
def test_a_document_that_is_no_object_is_an_error(text, code, line):
    document = read_job(text)

    assert document.job is None
    assert [(error.code, error.line) for error in document.errors][:1] == [(code, line)]


@pytest.mark.parametrize(
    ("line", "pointer"),
    [
        ("version: true", "/version"),
        ("version: '2'", "/version"),
        ("name: a:b", "/name"),
        ("name: a.", "/name"),
        ("owner: ' '", "/owner"),
        ("owner: 5", "/owner"),
        ("schedule: {start_date: 2023-02-30}", "/schedule/start_date"),
        ("schedule: {start_date: 20230226}", "/schedule/start_date"),
        ("schedule: {start_date: 2023-02-02, end_date: 2023-02-01}", "/schedule/end_date"),
        ("schedule: {start_date: 2023-02-02, interval: 0 2 * *}", "/schedule/interval"),
        ("task: {name: ''}", "/task/name"),
        ("task: {name: x, version: 3.6}", "/task/version"),
        ("labels: {a: 1}", "/labels/a"),
        ("labels: []", "/labels"),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error(line, pointer):
    name = line.partition(":")[0]
    others = [other for other in SMALL.splitlines() if not other.startswith(f"{name}:")]

    document = read_job("\n".join([*others, line]))

    assert [error.pointer for error in document.errors] == [pointer]


def test_a_null_is_an_absent_value():
    document = read_job(SMALL + "labels:\nhooks:\nmetadata:\n  resource:\n")

    assert document.errors == ()


def test_a_hostile_document_has_a_limited_number_of_errors():
    names = "\n".join(f"  a{number}: 1" for number in range(900))

    document = read_job(f"{SMALL}labels:\n{names}\n")

    assert len(document.errors) == 100
