"""Stored jobs by HTTP: documents, variables, secrets, runs, and the input that an executor gets."""

from __future__ import annotations

import io
import subprocess
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest

from controlplane.access.models import AuditRecord
from controlplane.errors import UnknownJob
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.ids import uuid7
from controlplane.scopes import Scope
from overrides.models import Project, ProjectState
from registry.jobs.models import Job, JobRun, JobSecret
from registry.jobs.runs import RunTerms, create_run
from registry.plugin_releases.models import PluginArtifact, PluginRelease, PluginSet, ReleasedPlugin
from tests.support.api_client import ACTOR, Api, make_project, token_for
from tests.support.plugin_sets import release_plugins

pytestmark = pytest.mark.django_db
AT = "2026-11-24T02:00:00Z"
SECRET = 'it\'s $HOME "quoted"\nline two é'
JOB = """version: 2
name: orders.daily
owner: shop-team
schedule: {start_date: "2026-11-01", interval: "0 2 * * *"}
task:
  name: bq
  config:
    TABLE: "{{.proj.DATASET}}.orders"
    PASSWORD: "{{.secret.warehouse}}"
    PLAIN: "a'b $X \\n end"
  window: {size: 24h, offset: "0", truncate_to: d}
hooks:
  - {name: mail, config: {SUBJECT: "{{.task.TABLE}}"}}
"""
URL = "jobs/shop/orders.daily"
HOST = "https://controlplane.example.com"


@pytest.fixture
def api(db: None) -> Api:
    make_project("shop")
    return Api(token_for(Role.ADMIN))


def put(api: Api, text: str = JOB, **body: Any) -> Any:
    headers = body.pop("headers", {})
    return api.put(URL, {"text": text, **body}, **headers)


def prepare(api: Api) -> PluginRelease:
    """A job with a variable, a secret, an active release of its plugins, and a run."""
    assert put(api, assets={"query.sql": "day >= '{{.DSTART}}'"}).status_code == 200
    assert api.put("job-variables/shop", {"variables": {"DATASET": "sales"}}).status_code == 200
    assert api.put("job-secrets/shop/warehouse", {"value": SECRET}).status_code == 200
    release = release_plugins("bq", "mail")
    assert api.post(f"{URL}/runs", {"scheduled_at": AT}).status_code == 201
    return release


def read_input(api: Api, **body: Any) -> Any:
    answer = api.post(f"{URL}:run-input", {"scheduled_at": AT, **body})
    assert answer.status_code == 200, answer.json()
    return answer.json()


def test_a_job_is_written_changed_with_its_etag_and_deleted(api):
    created = put(api)
    assert (created.status_code, created.headers["ETag"]) == (200, '"v1"')
    assert put(api).status_code == 428
    assert put(api, headers={"If-Match": '"v9"'}).status_code == 412
    changed = put(api, namespace="eu", headers={"If-Match": '"v1"'})
    assert (changed.json()["version"], changed.json()["namespace"]) == (2, "eu")
    assert api.get("jobs?plugin=mail").json()["items"][0]["hooks"] == ["mail"]
    assert api.delete(URL, If_Match='"v2"').status_code == 204
    assert api.get(URL).json()["code"] == "unknown_job"
    actions = list(AuditRecord.objects.filter(object_type="job").values_list("action", flat=True))
    assert actions.count("job.changed") == 2
    assert "job.deleted" in actions


def test_a_dry_run_stores_nothing(api):
    assert api.put(f"{URL}?dry_run=true", {"text": JOB}).status_code == 200
    assert not Job.objects.exists()


def test_every_error_of_a_job_is_told_with_its_place_and_nothing_is_stored(api):
    answer = put(api, JOB.replace("owner: shop-team\n", ""), assets={"../x": "", "a.sql": "{{ .b"})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "invalid_request")
    pointers = {error["pointer"] for error in problem["errors"]}
    assert {"/assets/..~1x", "/assets/a.sql"} < pointers
    assert any("owner" in error["message"] for error in problem["errors"])
    assert not Job.objects.exists()


def test_a_document_of_another_job_is_refused(api):
    answer = api.put("jobs/shop/other", {"text": JOB})
    assert answer.json()["errors"][0]["code"] == "name_differs"


def test_a_file_that_can_read_a_secret_gives_a_warning(api):
    written = put(api, assets={"key": "{{.secret.warehouse}}"}).json()
    assert written["sensitive_assets"] == ["key"]
    assert [warning["place"] for warning in written["warnings"]] == ["/assets/key"]


def test_a_run_exists_once_for_each_time(api):
    put(api)
    first = api.post(f"{URL}/runs", {"scheduled_at": AT, "external_id": "run-1"})
    again = api.post(f"{URL}/runs", {"scheduled_at": AT})
    other = api.post(f"{URL}/runs", {"scheduled_at": AT, "external_id": "run-2"})
    replay = api.post(f"{URL}/runs", {"scheduled_at": AT, "overrides": {"TABLE": "x"}})
    assert [one.status_code for one in (first, again, other, replay)] == [201, 200, 409, 409]
    assert first.json()["id"] == again.json()["id"]
    assert JobRun.objects.count() == 1


def test_a_run_gets_the_schedulers_name_later_and_keeps_it(api):
    put(api)
    api.post(f"{URL}/runs", {"scheduled_at": AT})
    named = api.post(f"{URL}/runs", {"scheduled_at": AT, "external_id": "run-1"})
    assert (named.status_code, named.json()["external_id"]) == (200, "run-1")
    later = "2026-11-25T02:00:00Z"
    api.post(f"{URL}/runs", {"scheduled_at": later})
    taken = api.post(f"{URL}/runs", {"scheduled_at": later, "external_id": "run-1"})
    assert (taken.status_code, taken.json()["code"]) == (409, "conflict")
    assert AuditRecord.objects.filter(action="job_run.named").count() == 1


def test_a_run_of_a_job_that_was_deleted_meanwhile_is_a_clear_error(api):
    put(api)
    job = Job.objects.get()
    Job.objects.all().delete()
    with pytest.raises(UnknownJob, match="deleted meanwhile"):
        create_run(job, RunTerms(datetime(2026, 11, 24, tzinfo=UTC)), actor=ACTOR)


def test_a_file_below_another_file_is_refused(api):
    answer = put(api, assets={"sql": "1", "sql/a.sql": "2", "sql.d/b": "3"})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["pointer"]) == (400, "/assets/sql~1a.sql")


def test_the_input_has_settings_secrets_files_and_the_plugin(api):
    release = prepare(api)
    got = read_input(api)
    assert got["envs"]["TABLE"] == "sales.orders"
    assert got["envs"]["DSTART"] == "2026-11-23T00:00:00Z"
    assert got["secrets"] == {"PASSWORD": SECRET}
    assert got["files"]["query.sql"] == {"text": "day >= '2026-11-23T00:00:00Z'", "sensitive": False}
    assert (got["image"], got["script"]) == ("registry.example/bq:1.0", "python3 /opt/main.py")
    assert got["release"]["id"] == str(release.id)
    hook = read_input(api, instance_type="hook", instance_name="mail")
    assert hook["envs"]["SUBJECT"] == "sales.orders"


def test_a_run_keeps_the_release_that_it_began_with(api):
    prepare(api)
    assert read_input(api)["image"].endswith(":1.0")
    release_plugins("bq", "mail", image="registry.example/bq:2.0")
    assert read_input(api)["image"].endswith(":1.0")
    later = "2026-11-25T02:00:00Z"
    api.post(f"{URL}/runs", {"scheduled_at": later})
    assert read_input(api, scheduled_at=later)["image"].endswith(":2.0")


def test_a_first_input_that_fails_pins_nothing(api):
    prepare(api)
    ReleasedPlugin.objects.filter(name="bq").update(artifact=None, problem="404")
    refused = api.post(f"{URL}:run-input", {"scheduled_at": AT})
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown_plugin")
    assert JobRun.objects.get().releases == {}
    newer = release_plugins("bq", "mail")
    assert read_input(api)["release"]["id"] == str(newer.id)


def test_a_run_keeps_its_archive_when_a_later_one_arrives(api):
    prepare(api)
    row = ReleasedPlugin.objects.get(name="bq")
    earlier, later = row.artifact, PluginArtifact.objects.get(id=row.artifact_id)
    later.id, later.sha256, later.spec = uuid7(), "c" * 64, later.spec.replace("main.py", "other.py")
    later.save(force_insert=True)
    ReleasedPlugin.objects.filter(id=row.id).update(artifact=None, fallback=earlier, problem="late")
    assert read_input(api)["script"].endswith("main.py")
    ReleasedPlugin.objects.filter(id=row.id).update(artifact=later, problem="")
    assert read_input(api)["script"].endswith("main.py")
    pinned = AuditRecord.objects.get(action="job_run.pinned")
    assert pinned.after["artifacts"] == {"bq": str(earlier.id)}


def test_a_preview_names_secrets_pins_nothing_and_needs_no_right_to_read_them(api):
    prepare(api)
    viewer = Api(token_for(Role.VIEWER))
    shown = viewer.post(f"{URL}:preview-input", {"scheduled_at": AT}).json()
    assert shown["secrets"] == {"PASSWORD": "<SECRET:warehouse>"}
    assert JobRun.objects.get().releases == {}
    assert viewer.post(f"{URL}:run-input", {"scheduled_at": AT}).status_code == 403


def test_an_executor_reads_the_input_of_its_project_and_nothing_else(api):
    prepare(api)
    make_project("other")
    executor = Api(token_for(Role.EXECUTOR, scope=Scope(project="shop")))
    assert executor.post(f"{URL}:run-input", {"scheduled_at": AT}).status_code == 200
    for path in (URL, "job-secrets/shop", "job-variables/shop"):
        assert executor.get(path).status_code == 403
    assert executor.post("jobs/other/x:run-input", {"scheduled_at": AT}).status_code == 403


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"scheduled_at": "2030-01-01T00:00:00Z"}, 404, "unknown_job_run"),
        ({"dag_run_id": "nobody"}, 404, "unknown_job_run"),
        ({}, 400, "invalid_request"),
        ({"scheduled_at": AT, "instance_type": "hook", "instance_name": "none"}, 404, "unknown_plugin"),
    ],
)
def test_an_unknown_run_or_hook_is_an_error_that_says_what_there_is(api, body, status, code):
    prepare(api)
    answer = api.post(f"{URL}:run-input", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_without_a_release_the_error_says_where_to_look(api):
    put(api)
    api.post(f"{URL}/runs", {"scheduled_at": AT})
    answer = api.post(f"{URL}:run-input", {"scheduled_at": AT})
    assert answer.status_code == 404
    assert "cpctl plugins list" in answer.json()["detail"]


def test_the_bundle_survives_a_shell(api, tmp_path):
    prepare(api)
    answer = api.post(f"{URL}:run-input", {"scheduled_at": AT}, Accept="application/x-tar")
    assert answer.headers["Content-Type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as archive:
        modes = {member.name: member.mode for member in archive.getmembers() if member.isfile()}
        archive.extractall(tmp_path, filter="tar")
    assert modes["in/secret"] == 0o440
    assert modes["in/entrypoint"] == 0o555
    folder = Path(tmp_path, "in")
    shown = subprocess.run(
        ["dash", "-c", '. ./env; . ./secret; printf \'%s|%s\' "$PASSWORD" "$PLAIN"'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == f"{SECRET}|a'b $X \n end"


def test_secrets_are_sealed_listed_by_name_and_in_no_record(api, caplog):
    prepare(api)
    read_input(api)
    listed = api.get("job-secrets/shop").json()["items"]
    assert [(one["name"], one["version"]) for one in listed] == [("warehouse", 1)]
    records = [*AuditRecord.objects.values(), *Event.objects.values(), *JobSecret.objects.values()]
    assert "HOME" not in str(records) + caplog.text + str(listed)
    assert api.delete("job-secrets/shop/warehouse").status_code == 204
    assert api.delete("job-secrets/shop/warehouse").json()["code"] == "unknown_job_secret"


def test_variables_of_a_namespace_win(api):
    prepare(api)
    put(api, namespace="eu", headers={"If-Match": '"v1"'})
    api.put("job-variables/shop?namespace=eu", {"variables": {"DATASET": "sales_eu"}})
    assert read_input(api)["envs"]["TABLE"] == "sales_eu.orders"


def test_bad_variables_are_refused_and_nothing_is_stored(api):
    answer = api.put("job-variables/shop", {"variables": {"1x": "a"}})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/variables/1x")
    assert api.get("job-variables/shop").json()["version"] == 0


def test_an_unknown_or_archived_project_gets_no_job(api):
    assert api.put("jobs/nowhere/orders.daily", {"text": JOB}).json()["code"] == "unknown_project"
    Project.objects.filter(id="shop").update(state=ProjectState.ARCHIVED)
    assert put(api).json()["code"] == "conflict"


def test_jobs_of_other_projects_do_not_exist_for_a_caller(api):
    prepare(api)
    make_project("mine")
    editor = Api(token_for(Role.EDITOR, scope=Scope(project="mine")))
    assert editor.get("jobs").json()["items"] == []
    assert editor.get(URL).status_code == 403
    assert editor.put(URL, {"text": JOB}).status_code == 403
    assert PluginSet.objects.count() == 1


@pytest.mark.parametrize("profile", ["optimus", "rfc"])
@pytest.mark.parametrize("shape", ["wrapper", "file_key_ref"])
def test_a_rendered_pod_is_one_that_a_cluster_takes(api, profile, shape):
    prepare(api)
    answer = api.post(f"{URL}:render", {"profile": profile, "shape": shape, "scheduled_at": AT, "host": HOST})
    assert answer.status_code == 200, answer.json()
    pod = answer.json()["content"]
    kubernetes_validate.validate(pod, "1.35", strict=True)
    assert pod["spec"]["containers"][0]["image"] == "registry.example/bq:1.0"
    assert pod["spec"]["initContainers"][0]["image"] == "controlplane:0.1.0"
    assert "warehouse" not in answer.content.decode()


def test_a_shape_that_the_cluster_cannot_run_is_refused(api):
    prepare(api)
    answer = api.post(f"{URL}:render", {"shape": "file_key_ref", "cluster_version": "v1.34.2"})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "unsupported")


def test_a_pod_that_would_not_know_the_server_is_not_rendered(api, settings):
    settings.PUBLIC_URL = ""
    prepare(api)
    answer = api.post(f"{URL}:render", {"kind": "pod"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/host")


def test_docker_needs_the_time_of_the_run(api):
    prepare(api)
    body = {"kind": "docker", "host": HOST}
    refused = api.post(f"{URL}:render", {**body, "scheduled_at": "{{ ds }}"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "/scheduled_at")
    program = api.post(f"{URL}:render", {**body, "scheduled_at": AT}).json()["text"]
    assert subprocess.run(["sh", "-n"], input=program, text=True, check=False).returncode == 0
    assert "warehouse" not in program


def test_airflow_gets_the_arguments_of_its_operator(api):
    prepare(api)
    content = api.post(
        f"{URL}:render", {"kind": "airflow", "instance_type": "hook", "instance_name": "mail", "host": HOST}
    )
    arguments = content.json()["content"]
    assert (arguments["task_id"], arguments["image"]) == ("hook_mail", "registry.example/bq:1.0")
