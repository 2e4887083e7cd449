"""The input of an executor for one run: environment, secrets and files, compiled from templates. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from registry.jobs.assets import asset_name_error
from registry.jobs.job_spec import JobSpec, Step
from registry.jobs.labels import write_labels
from registry.jobs.names import SETTING_RULE, is_setting_name
from registry.jobs.templates import Budget, Limits, Rendered, TemplateError, render
from registry.jobs.windows import Interval, InvalidWindow, compute_interval

JOB_LABELS = "JOB_LABELS"
_RUN_LIMITS = Limits(output_bytes=4 * 1024 * 1024, iterations=10_000, steps=200_000)
_PROJECT_PREFIX = "GLOBAL__"
_TASK_PREFIX = "TASK__"


class InstanceType(StrEnum):
    """What the executor runs."""

    TASK = "task"
    HOOK = "hook"


@dataclass(frozen=True, slots=True)
class Tenant:
    """The project and namespace of a job, with their configuration and secrets. The namespace wins."""

    project: str
    namespace: str
    project_config: Mapping[str, str] = field(default_factory=dict)
    namespace_config: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job. instance_name: of the task or hook. overrides: a replay's task settings."""

    job: JobSpec
    scheduled_at: datetime
    executed_at: datetime
    instance_type: InstanceType
    instance_name: str
    job_id: str = ""
    destination: str = ""
    assets: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class File:
    """A compiled file. is_sensitive: it contains, or depends on, a secret; do not log or cache it."""

    text: str = field(repr=False)
    is_sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Unsubstituted:
    """A value that contains `<no value>`. part: such as `task.config.TABLE`; names: what was missing."""

    part: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartError:
    """A template that failed. line, column: in that template, from 1; 0 if unknown."""

    part: str
    message: str
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class RunInput:
    """What an executor gets. A name is either in `envs` or in `secrets`."""

    envs: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)
    files: Mapping[str, File]
    unsubstituted: tuple[Unsubstituted, ...] = ()


class InvalidRunInput(ValueError):
    """The input cannot be compiled. errors: of all parts. They contain no values."""

    def __init__(self, errors: tuple[PartError, ...]) -> None:
        super().__init__("; ".join(f"{error.part}: {error.message}" for error in errors))
        self.errors = errors


def compile_run_input(run: Run, tenant: Tenant, *, dry_run: bool = False) -> RunInput:
    """Return the input. Raises InvalidRunInput.

    dry_run: secrets are replaced by `<SECRET:name>`. Files are compiled first, then the task, then the hook,
    which can read the task's settings. System variables replace settings of the same name.
    """
    system = _system_variables(run)
    compiler = _Compiler(_context(tenant, system, dry_run=dry_run))
    files = compiler.files(run.assets)
    settings = compiler.settings("task.config", {**run.job.task.config, **run.overrides})
    if run.instance_type is InstanceType.HOOK:
        hook = _find_hook(run)
        compiler.add_task(settings)
        settings = compiler.settings(f"hooks.{hook.name}.config", hook.config)
    elif run.instance_name != run.job.task.name:
        raise _invalid("instance_name", f"The task of the job is {run.job.task.name}.")
    if compiler.errors:
        raise InvalidRunInput(tuple(compiler.errors))
    envs = {name: value.text for name, value in settings.items() if not value.is_sensitive} | system
    envs[JOB_LABELS] = _job_labels(run, tenant, envs.get(JOB_LABELS, ""))
    secrets = {name: value.text for name, value in settings.items() if value.is_sensitive}
    return RunInput(
        envs,
        {name: text for name, text in secrets.items() if name not in envs},
        files,
        tuple(compiler.unsubstituted),
    )


class _Compiler:
    """Renders the parts of a job, and collects errors of all of them."""

    def __init__(self, context: dict[str, str | Mapping[str, str]]) -> None:
        self.context = context
        # Shared: a job with many templates may not take longer than one with a single large template.
        self.budget = Budget(_RUN_LIMITS)
        self.errors: list[PartError] = []
        self.unsubstituted: list[Unsubstituted] = []
        # Paths in the context whose values are secret, beside all below `secret`.
        self.sensitive: set[tuple[str, ...]] = set()

    def files(self, assets: Mapping[str, str]) -> dict[str, File]:
        files = {}
        for name, source in assets.items():
            part = f"assets/{name}"
            if message := asset_name_error(name):
                self.errors.append(PartError(part, message))
            elif (file := self.compile(part, source)) is not None:
                files[name] = file
        return files

    def settings(self, part: str, config: Mapping[str, str]) -> dict[str, File]:
        settings = {}
        for name, source in config.items():
            value = self.compile(f"{part}.{name}", source)
            if not is_setting_name(name):
                self.errors.append(PartError(part, SETTING_RULE))
            elif value is not None and "\0" in value.text:
                self.errors.append(PartError(f"{part}.{name}", "An environment variable cannot contain NUL."))
            elif value is not None:
                settings[name] = value
        return settings

    def compile(self, part: str, source: str) -> File | None:
        try:
            rendered = render(source, self.context, budget=self.budget)
        except TemplateError as error:
            self.errors.append(PartError(part, error.message, error.line, error.column))
            return None
        if rendered.unsubstituted:
            names = tuple("." + ".".join(path) for path in rendered.unsubstituted)
            self.unsubstituted.append(Unsubstituted(part, names))
        return File(rendered.text, self.reads_secret(rendered))

    def reads_secret(self, rendered: Rendered) -> bool:
        return any(path[0] == "secret" or path in self.sensitive for path in rendered.reads)

    def add_task(self, settings: Mapping[str, File]) -> None:
        """Let the hook's templates read the task's settings, of which some are secret."""
        self.context["task"] = {name: value.text for name, value in settings.items()}
        for name, value in settings.items():
            self.context[_TASK_PREFIX + name] = value.text
            if value.is_sensitive:
                self.sensitive |= {("task", name), (_TASK_PREFIX + name,)}


def _context(
    tenant: Tenant, system: Mapping[str, str], *, dry_run: bool
) -> dict[str, str | Mapping[str, str]]:
    config = {**tenant.project_config, **tenant.namespace_config}
    secrets = {name: f"<SECRET:{name}>" if dry_run else text for name, text in tenant.secrets.items()}
    prefixed = {_PROJECT_PREFIX + name: value for name, value in config.items()}
    return {**prefixed, "proj": config, "secret": secrets, "inst": system, **system}


def _system_variables(run: Run) -> dict[str, str]:
    try:
        interval = compute_interval(run.job.window, run.scheduled_at)
    except InvalidWindow as error:
        raise _invalid(f"task.window.{error.field}", error.message) from error
    return _times(interval, run.scheduled_at) | {
        "EXECUTION_TIME": _rfc3339(run.executed_at),
        "JOB_DESTINATION": run.destination,
    }


def _times(interval: Interval, scheduled_at: datetime) -> dict[str, str]:
    return {
        "DSTART": _rfc3339(interval.start),
        "DEND": _rfc3339(interval.end),
        "START_DATE": _rfc3339(interval.start)[:10],
        "END_DATE": _rfc3339(interval.end)[:10],
        "SCHEDULE_TIME": _rfc3339(scheduled_at),
        "SCHEDULE_DATE": _rfc3339(scheduled_at)[:10],
    }


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def _job_labels(run: Run, tenant: Tenant, configured: str) -> str:
    """Return the labels, after those that the job's own configuration sets."""
    of_job = {
        "project": tenant.project,
        "namespace": tenant.namespace,
        "job_name": run.job.name,
        "job_id": run.job_id,
    }
    labels = write_labels(run.job.labels, {key: value for key, value in of_job.items() if value})
    return ",".join(filter(None, (configured, labels)))


def _find_hook(run: Run) -> Step:
    hook = next((hook for hook in run.job.hooks if hook.name == run.instance_name), None)
    if hook is None:
        names = ", ".join(hook.name for hook in run.job.hooks) or "none"
        raise _invalid("instance_name", f"The job has no such hook. Its hooks: {names}.")
    return hook


def _invalid(part: str, message: str) -> InvalidRunInput:
    return InvalidRunInput((PartError(part, message),))
