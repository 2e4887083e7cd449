"""The commands `jobs` for stored jobs: apply, list, show and delete them, their runs and inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpctl import files
from cpctl.columns import Kind, field, timestamp
from cpctl.commands import change_options, get, options
from cpctl.commands.job_settings import Namespace, ProjectOfJob
from cpctl.commands.jobs import asset_texts, jobs, name_and_value
from cpctl.errors import UsageError
from cpctl.output import Format, document, say
from cpctl.paths import segment
from cpctl.session import SESSION

JOB = Kind(
    "jobs",
    "jobs",
    (
        field("PROJECT"),
        field("NAME"),
        field("NAMESPACE"),
        field("TASK"),
        field("OWNER"),
        field("VERSION", wide=True),
        timestamp("CHANGED", "changed_at"),
    ),
)
RUN = Kind(
    "job-runs",
    "runs",
    (
        field("ID"),
        timestamp("SCHEDULED", "scheduled_at"),
        timestamp("STARTED", "started_at"),
        field("EXTERNAL ID", "external_id"),
    ),
)
runs = typer.Typer(help="Create and list runs of a job.", no_args_is_help=True)
jobs.add_typer(runs, name="runs")
Name = Annotated[str, typer.Argument(metavar="JOB", help="Name of the job.")]
Time = Annotated[str, typer.Option(help="Time of the run, as 2026-11-23T02:00:00Z.")]


def _path(project: str, name: str) -> str:
    return f"jobs/{segment(project)}/{segment(name)}"


@jobs.command("list")
def list_jobs(
    *,
    project: Annotated[str, typer.Option("-p", "--project", help="Of one project.")] = "",
    plugin: Annotated[str, typer.Option(help="Whose task or hook is this plugin.")] = "",
    search: options.Text = "",
    sort: options.Sort = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List jobs.

    \b
    cpctl jobs list --plugin bq2bq
    """
    query = {"project": project, "plugin": plugin, "q": search, "sort": sort}
    get.list_of(JOB, query, output, headers=not no_headers, limit=limit)


@jobs.command()
def show(name: Name, *, project: ProjectOfJob, output: options.Output = Format.YAML) -> None:
    """Show a job with its document and files.

    \b
    cpctl jobs show shop.orders.daily -p flytesnacks
    """
    say(*document(SESSION.api().get(_path(project, name)).json(), output if output.is_whole else Format.YAML))


@jobs.command()
def apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="job.yaml, or - for standard input.")],
    *,
    project: ProjectOfJob,
    name: Annotated[str, typer.Option(help="Name of the job. Default: the one in the file.")] = "",
    namespace: Namespace = "",
    team: Annotated[str, typer.Option(help="Whose plugins it uses before those of the platform.")] = "",
    assets: Annotated[Path | None, typer.Option(help="Folder with the job's files.")] = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Create or replace a job.

    \b
    cpctl jobs apply job.yaml -p flytesnacks -m "Other table"
    """
    ((_, text),) = files.texts([file])
    name = name or _name_in(file, text)
    body = {
        "text": text,
        "assets": asset_texts(assets) if assets else {},
        "namespace": namespace,
        "team": team,
    }
    path = _path(project, name)
    change = options.ChangeOptions(message, dry_run, yes)
    headers = change_options.precondition_headers(path)
    change.ask(f"Replace the job {name}?" if "If-Match" in headers else f"Create the job {name}?")
    job = SESSION.api().send("PUT", path, body, query=change.query(), headers=headers).json()
    for warning in job["warnings"]:
        SESSION.tell(f"{warning['place']}: {warning['message']} {warning['hint']}".rstrip())
    change.tell(f"Job {name} has version {job['version']}.")


def _name_in(file: str, text: str) -> str:
    found = files.documents(files.joined([(file, text)]))
    name = found[0].get("name") if len(found) == 1 and isinstance(found[0], dict) else None
    if not isinstance(name, str) or not name:
        raise UsageError(f"{file} has no name of a job.", hint="write `name: shop.orders.daily` in the file")
    return name


@jobs.command()
def delete(
    name: Name,
    *,
    project: ProjectOfJob,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a job with its runs.

    \b
    cpctl jobs delete shop.orders.daily -p flytesnacks --yes
    """
    change_options.delete(_path(project, name), f"job {name}", options.ChangeOptions(message, dry_run, yes))


@runs.command("list")
def list_runs(
    job: Name,
    *,
    project: ProjectOfJob,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List runs of a job, newest first.

    \b
    cpctl jobs runs list shop.orders.daily -p flytesnacks
    """
    kind = Kind(RUN.name, f"{_path(project, job)}/runs", RUN.columns)
    get.list_of(kind, {}, output, headers=not no_headers, limit=limit)


@runs.command("create")
def create_run(
    job: Name,
    *,
    project: ProjectOfJob,
    scheduled_at: Time,
    external_id: Annotated[str, typer.Option(help="The scheduler's name of the run.")] = "",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE of the task, for a replay. Repeatable.")
    ] = None,
    output: options.Output = Format.TABLE,
) -> None:
    """Create the run of a job for a time, or show the one that there is.

    \b
    cpctl jobs runs create shop.orders.daily -p flytesnacks --scheduled-at 2026-11-23T02:00:00Z
    """
    body = {
        "scheduled_at": scheduled_at,
        "external_id": external_id,
        "overrides": dict(map(name_and_value, setting or [])),
    }
    get.show(RUN, [SESSION.api().post(f"{_path(project, job)}/runs", body).json()], output)


@jobs.command("run-input")
def run_input(
    job: Name,
    *,
    project: ProjectOfJob,
    scheduled_at: Time,
    hook: Annotated[str, typer.Option(help="A hook of the job, instead of its task.")] = "",
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Show values of secrets, and pin the release of the run.")
    ] = False,
    output: options.Output = Format.YAML,
) -> None:
    """Show what the executor of a run gets. Secrets are masked without --reveal.

    \b
    cpctl jobs run-input shop.orders.daily -p flytesnacks --scheduled-at 2026-11-23T02:00:00Z
    """
    instance = {"instance_type": "hook", "instance_name": hook} if hook else {"instance_type": "task"}
    verb = "run-input" if reveal else "preview-input"
    body = {"scheduled_at": scheduled_at, **instance}
    answer = SESSION.api().send("POST", f"{_path(project, job)}:{verb}", body)
    say(*document(answer.json(), output if output.is_whole else Format.YAML))


@jobs.command()
def render(
    job: Name,
    *,
    project: ProjectOfJob,
    hook: Annotated[str, typer.Option(help="A hook of the job, instead of its task.")] = "",
    kind: Annotated[str, typer.Option(help="pod, airflow for KubernetesPodOperator, or docker.")] = "pod",
    profile: Annotated[str, typer.Option(help="Names and paths: optimus or rfc.")] = "optimus",
    shape: Annotated[str, typer.Option(help="wrapper or file_key_ref.")] = "wrapper",
    scheduled_at: Annotated[str, typer.Option(help="Time of the run. Default: what Airflow has.")] = "",
    host: Annotated[str, typer.Option(help="Server as pods reach it. Default: as cpctl does.")] = "",
    cluster_version: Annotated[str, typer.Option(help="Version of the cluster, as v1.35.0.")] = "",
) -> None:
    """Print the pod of a job's task or hook, with the active release of its plugin.

    \b
    cpctl jobs render shop.orders.daily -p flytesnacks
    """
    instance = {"instance_type": "hook", "instance_name": hook} if hook else {"instance_type": "task"}
    body = {
        **instance,
        "kind": kind,
        "profile": profile,
        "shape": shape,
        "scheduled_at": scheduled_at,
        "cluster_version": cluster_version,
        "host": host or SESSION.chosen().server,
    }
    say(SESSION.api().send("POST", f"{_path(project, job)}:render", body).json()["text"].rstrip())
