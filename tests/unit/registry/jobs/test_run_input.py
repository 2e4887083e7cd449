"""The input of an executor: order of compilation, secrets, hooks, system variables and dry runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from registry.jobs.job_spec import JobSpec, Schedule, Step
from registry.jobs.run_input import (
    InstanceType,
    InvalidRunInput,
    PartError,
    Run,
    Tenant,
    Unsubstituted,
    compile_run_input,
)
from registry.jobs.windows import Window

TENANT = Tenant(
    "sales",
    "playground",
    project_config={"BUCKET": "gs://project", "REGION": "eu"},
    namespace_config={"BUCKET": "gs://namespace"},
    secrets={"TOKEN": "t0p", "OTHER": "0th3r"},
)
SYSTEM = {
    "DSTART": "2023-03-04T00:00:00Z",
    "DEND": "2023-03-05T00:00:00Z",
    "START_DATE": "2023-03-04",
    "END_DATE": "2023-03-05",
    "SCHEDULE_TIME": "2023-03-05T10:20:30Z",
    "SCHEDULE_DATE": "2023-03-05",
    "EXECUTION_TIME": "2023-03-05T10:21:00Z",
    "JOB_DESTINATION": "p:d.t",
}


def run_of(config=None, *, hook=None, **fields):
    hooks = (Step("transporter", hook),) if hook is not None else ()
    job = JobSpec(
        version=2,
        name="sales.table1",
        owner="team",
        schedule=Schedule("2023-01-26"),
        task=Step("bq2bq", config or {}),
        window=Window(2, "d", "0", "24h"),
        hooks=hooks,
        labels={"Orchestrator": "Optimus v1!"},
    )
    run = Run(
        job,
        scheduled_at=datetime(2023, 3, 5, 10, 20, 30, tzinfo=UTC),
        executed_at=datetime(2023, 3, 5, 10, 21, tzinfo=UTC),
        instance_type=InstanceType.TASK if hook is None else InstanceType.HOOK,
        instance_name="bq2bq" if hook is None else "transporter",
        destination="p:d.t",
    )
    return replace(run, **fields)


def test_a_task_gets_its_settings_system_variables_and_labels():
    config = {"TABLE": "{{ .GLOBAL__BUCKET }}/{{ .proj.REGION }}/{{ .DSTART | Date }}", "LITERAL": " x "}

    result = compile_run_input(run_of(config, job_id="7f3"), TENANT)

    assert result.envs == {
        **SYSTEM,
        "TABLE": "gs://namespace/eu/2023-03-04",
        "LITERAL": "x",
        "JOB_LABELS": "job_id=7f3,job_name=sales-table1,namespace=playground,"
        "orchestrator=optimus-v1-,project=sales",
    }
    assert result.secrets == {}
    assert result.unsubstituted == ()


def test_a_setting_is_secret_if_its_template_reads_a_secret():
    config = {
        "PASSWORD": "{{ .secret.TOKEN }}",
        "INDIRECT": '{{ index . "secret" "TOKEN" }}',
        "DEPENDENT": "{{ if .secret.TOKEN }}on{{ end }}",
        "MENTION": "see .secret.TOKEN",
        "UNREAD": "{{ or .proj.REGION .secret.TOKEN }}",
    }

    result = compile_run_input(run_of(config), TENANT)

    assert result.secrets == {"PASSWORD": "t0p", "INDIRECT": "t0p", "DEPENDENT": "on"}
    assert {name: result.envs[name] for name in ("MENTION", "UNREAD")} == {
        "MENTION": "see .secret.TOKEN",
        "UNREAD": "eu",
    }


@pytest.mark.parametrize("source", ["2020-01-01", "{{ .secret.TOKEN }}"])
def test_a_system_variable_replaces_a_setting_of_its_name(source):
    result = compile_run_input(run_of({"DSTART": source}), TENANT)

    assert result.envs["DSTART"] == SYSTEM["DSTART"]
    assert result.secrets == {}


def test_a_hook_reads_the_settings_of_the_task_and_gets_only_its_own():
    task = {"TABLE": "t1", "PASSWORD": "{{ .secret.TOKEN }}"}
    hook = {"FROM": "{{ .task.TABLE }}", "ALSO": "{{ .TASK__TABLE }}-{{ .inst.DEND | Date }}"}

    result = compile_run_input(run_of(task, hook=hook), TENANT)

    assert (result.envs["FROM"], result.envs["ALSO"]) == ("t1", "t1-2023-03-05")
    assert "TABLE" not in result.envs
    assert result.secrets == {}


@pytest.mark.parametrize(
    "source",
    [
        "{{ .task.PASSWORD }}",
        "{{ .TASK__PASSWORD }}",
        '{{ index .task "PASSWORD" }}',
        "{{ $.task.PASSWORD }}",
    ],
)
def test_a_secret_of_the_task_stays_secret_in_a_hook(source):
    task = {"PASSWORD": "{{ .secret.TOKEN }}"}

    result = compile_run_input(run_of(task, hook={"COPY": source}), TENANT)

    assert result.secrets == {"COPY": "t0p"}
    assert "COPY" not in result.envs


def test_a_task_cannot_read_the_context_of_hooks():
    result = compile_run_input(run_of({"A": "a", "B": "{{ .task.A }}"}), TENANT)

    assert result.unsubstituted == (Unsubstituted("task.config.B", (".task.A",)),)


def test_files_are_compiled_and_those_with_secrets_are_sensitive():
    assets = {"query.sql": "SELECT '{{ .DSTART }}'\n", "sub/login.ini": "password={{ .secret.TOKEN }}"}

    files = compile_run_input(run_of(assets=assets), TENANT).files

    assert (files["query.sql"].text, files["query.sql"].is_sensitive) == (
        "SELECT '2023-03-04T00:00:00Z'",
        False,
    )
    assert (files["sub/login.ini"].text, files["sub/login.ini"].is_sensitive) == ("password=t0p", True)


def test_no_secret_is_in_the_representation_of_the_result():
    assets = {"login.ini": "{{ .secret.TOKEN }}"}
    result = compile_run_input(run_of({"P": "{{ .secret.TOKEN }}"}, assets=assets), TENANT)

    assert "t0p" not in repr(result)
    assert "t0p" not in repr(TENANT)


def test_a_dry_run_shows_the_names_of_secrets():
    run = run_of(
        {"P": "{{ .secret.TOKEN }}"}, hook={"Q": "x-{{ .task.P }}"}, assets={"f": "{{ .secret.OTHER }}"}
    )

    result = compile_run_input(run, TENANT, dry_run=True)

    assert result.secrets == {"Q": "x-<SECRET:TOKEN>"}
    assert result.files["f"].text == "<SECRET:OTHER>"


def test_unsubstituted_values_are_reported_for_each_part():
    run = run_of(
        {"A": "{{ .proj.NO }}", "B": "{{ .secret.NO }}{{ .no }}"}, assets={"q.sql": "{{ .GLOBAL__NO }}"}
    )

    result = compile_run_input(run, TENANT)

    assert result.unsubstituted == (
        Unsubstituted("assets/q.sql", (".GLOBAL__NO",)),
        Unsubstituted("task.config.A", (".proj.NO",)),
        Unsubstituted("task.config.B", (".secret.NO", ".no")),
    )
    assert result.secrets == {"B": "<no value><no value>"}


def test_the_overrides_of_a_replay_replace_settings_of_the_task():
    run = run_of({"MODE": "append", "KEEP": "1"}, overrides={"MODE": "{{ .proj.REGION }}", "NEW": "n"})

    envs = compile_run_input(run, TENANT).envs

    assert (envs["MODE"], envs["KEEP"], envs["NEW"]) == ("eu", "1", "n")


def test_labels_of_the_configuration_come_first():
    envs = compile_run_input(run_of({"JOB_LABELS": "team=x"}), TENANT).envs

    assert envs["JOB_LABELS"].startswith("team=x,job_name=sales-table1,")


def test_a_label_of_the_job_cannot_claim_another_project():
    run = run_of()
    run = replace(run, job=replace(run.job, labels={"Project": "other", "long": "é" * 80}))

    labels = compile_run_input(run, TENANT).envs["JOB_LABELS"].split(",")

    assert "project=sales" in labels
    assert f"long={'-' * 63}" in labels


def test_all_templates_that_fail_are_reported_with_their_positions():
    run = run_of({"A": "{{ .a", "B": "x\n{{ upper }}"}, assets={"q.sql": "{{ Date `x` }}"})

    with pytest.raises(InvalidRunInput) as error:
        compile_run_input(run, TENANT)

    assert [(part.part, part.line, part.column) for part in error.value.errors] == [
        ("assets/q.sql", 1, 4),
        ("task.config.A", 1, 1),
        ("task.config.B", 2, 4),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a//b",
        "./a",
        "a\\b",
        "a\0",
        "a\nb",
        ".env",
        "secret/x",
        "x" * 256,
    ],
)
def test_a_file_outside_of_the_folder_is_refused(name):
    with pytest.raises(InvalidRunInput) as error:
        compile_run_input(run_of(assets={name: "x"}), TENANT)

    assert error.value.errors[0].part == f"assets/{name}"


@pytest.mark.parametrize("name", ["query.sql", "sub/dir/x.txt", "..a", "a..b", "ž", ".hidden", "environment"])
def test_a_file_inside_of_the_folder_is_accepted(name):
    assert name in compile_run_input(run_of(assets={name: "x"}), TENANT).files


@pytest.mark.parametrize("name", ["A B", "1A", "A;id", "A-B", "", "Ž"])
def test_a_setting_that_a_shell_could_run_is_refused(name):
    with pytest.raises(InvalidRunInput, match="letters, digits and underscores"):
        compile_run_input(run_of({name: "x"}), TENANT)


def test_a_value_with_nul_is_refused():
    with pytest.raises(InvalidRunInput, match="cannot contain NUL"):
        compile_run_input(run_of({"A": '{{ "\\x00" }}x'}), TENANT)


def test_an_unknown_hook_or_task_is_refused():
    for run in (run_of(hook={}, instance_name="other"), run_of(instance_name="other")):
        with pytest.raises(InvalidRunInput) as error:
            compile_run_input(run, TENANT)

        assert error.value.errors[0].part == "instance_name"


def test_an_invalid_window_is_reported():
    run = run_of()
    run = replace(run, job=replace(run.job, window=Window(2, "y")))

    with pytest.raises(InvalidRunInput) as error:
        compile_run_input(run, TENANT)

    assert error.value.errors == (
        PartError("task.window.truncate_to", "'y' is not a unit to truncate to. Use h, d, w, M or none."),
    )
