"""Read job.yaml, the document of a job, in version 1 or 2. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date

from controlplane.errors import FieldError, MalformedBody
from controlplane.formats import go_durations, strict_yaml
from registry.jobs.document_fields import Findings, Members, Value
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
from registry.jobs.names import SETTING_RULE, is_setting_name
from registry.jobs.templates import TemplateError
from registry.jobs.templates.parser import parse
from registry.jobs.windows import VERSIONS, InvalidWindow, Window, check_window

LARGEST_DOCUMENT = 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,218}[A-Za-z0-9_])?", re.ASCII)
_INTERVAL = re.compile(r"@(?:once|hourly|daily|midnight|weekly|monthly|yearly|annually)|\S+(?: +\S+){4}")
_FIELDS = (
    *("version", "name", "owner", "description", "schedule", "behavior", "task", "window", "hooks"),
    *("dependencies", "labels", "metadata"),
)


@dataclass(frozen=True, slots=True)
class JobDocument:
    """The result of reading. job: None if there are errors."""

    job: JobSpec | None
    errors: tuple[FieldError, ...]
    warnings: tuple[FieldError, ...]


def read_job(text: str) -> JobDocument:
    """Read the document, and report all errors and warnings with pointer, line and column."""
    if len(text) > LARGEST_DOCUMENT:
        message = f"The document is longer than {LARGEST_DOCUMENT} characters."
        return JobDocument(None, (FieldError("", "too_large", message),), ())
    try:
        content = strict_yaml.load(text)
    except MalformedBody as error:
        return JobDocument(None, tuple(error.errors) or (FieldError("", "malformed", str(error)),), ())
    findings = Findings()
    job = _job(Value(content, "", findings))
    if not findings.errors and not findings.warnings:
        return JobDocument(job, (), ())
    places = strict_yaml.positions(text)[0]
    errors, warnings = _located(findings.errors, places), _located(findings.warnings, places)
    return JobDocument(None if errors else job, errors, warnings)


def _located(
    findings: Iterable[FieldError], places: dict[str, strict_yaml.Position]
) -> tuple[FieldError, ...]:
    positions = ((finding, *strict_yaml.nearest(finding.pointer, places)) for finding in findings)
    located = [replace(finding, line=line, column=column) for finding, line, column in positions]
    return tuple(sorted(located, key=lambda finding: (finding.line, finding.column, finding.pointer)))


def _job(root: Value) -> JobSpec:
    fields = root.members(*_FIELDS, required=("version", "name", "owner", "schedule", "task"))
    version = _version(fields)
    task = fields.members("task", "name", "version", "config", "window", required=("name",))
    behavior = fields.members("behavior", "depends_on_past", "retry", "notify")
    return JobSpec(
        version=version,
        name=_name(fields),
        owner=fields.non_empty_text("owner"),
        description=fields.text("description"),
        schedule=_schedule(
            fields.members("schedule", "start_date", "end_date", "interval", required=("start_date",))
        ),
        task=_step(task),
        window=_window(version, task.get("window"), fields.get("window")),
        depends_on_past=behavior.boolean("depends_on_past"),
        retry=_retry(behavior.members("retry", "count", "delay", "exponential_backoff")),
        notifications=tuple(map(_notification, behavior.items("notify"))),
        hooks=_hooks(fields),
        dependencies=tuple(map(_dependency, fields.items("dependencies"))),
        labels=fields.texts("labels"),
        metadata=_metadata(fields.members("metadata", "resource", "airflow")),
    )


def _version(fields: Members) -> int:
    value = fields.get("version")
    if value is None:
        return VERSIONS[-1]
    if value.value in VERSIONS and type(value.value) is int:
        return value.value
    value.error("invalid_value", "The version must be 1 or 2. It chooses the rule of windows.")
    return VERSIONS[-1]


def _name(fields: Members) -> str:
    value, name = fields.get("name"), fields.text("name")
    if value is not None and isinstance(value.value, str) and not _NAME.fullmatch(name):
        hint = "Use letters, digits, and inner dots and hyphens, at most 220 characters."
        value.error("invalid_value", "The name of the job is invalid.", hint)
    return name


def _schedule(fields: Members) -> Schedule:
    start, end = _date(fields.get("start_date")), _date(fields.get("end_date"), is_optional=True)
    if start and end and end < start:
        fields.values["end_date"].error("invalid_value", "The end date is before the start date.")
    interval = fields.text("interval")
    if interval and not _INTERVAL.fullmatch(interval.strip()):
        hint = "Write five fields, as in 0 2 * * *, or @daily."
        fields.values["interval"].error("invalid_value", "The interval is not a cron expression.", hint)
    return Schedule(start, end, interval)


def _date(value: Value | None, *, is_optional: bool = False) -> str:
    if value is None or (is_optional and value.value == ""):
        return ""
    text = value.text()
    if isinstance(value.value, str) and not _is_date(text):
        value.error("invalid_value", "Expected a date of the calendar.", "Write it as 2023-01-26.")
        return ""
    return text


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _retry(fields: Members) -> Retry:
    return Retry(fields.count("count"), _delay(fields.get("delay")), fields.boolean("exponential_backoff"))


def _delay(value: Value | None) -> int:
    """Return nanoseconds. 0 needs no unit."""
    if value is None or (value.value == 0 and type(value.value) is int):
        return 0
    try:
        delay = go_durations.parse(value.value) if isinstance(value.value, str) else -1
    except ValueError:
        delay = -1
    if delay < 0:
        value.error("invalid_value", "Expected a duration that is not negative.", "Write it as 5m or 1h30m.")
    return max(delay, 0)


def _notification(value: Value) -> Notification:
    fields = value.members("on", "config", "channels", required=("on",))
    channels = tuple(channel.non_empty_text() for channel in fields.items("channels"))
    return Notification(fields.non_empty_text("on"), fields.texts("config"), channels)


def _step(fields: Members) -> Step:
    return Step(
        fields.non_empty_text("name"), _config(fields.get("config")), fields.non_empty_text("version")
    )


def _config(value: Value | None) -> dict[str, str]:
    config: dict[str, str] = {}
    for name, setting in value.entries() if value is not None else ():
        config[name] = setting.text()
        if not is_setting_name(name):
            setting.error("invalid_name", SETTING_RULE)
        try:
            parse(config[name])
        except TemplateError as error:
            where = f"Line {error.line}, column {error.column} of the template."
            setting.error("invalid_template", f"{error.message} {where}")
    return config


def _hooks(fields: Members) -> tuple[Step, ...]:
    hooks: dict[str, Step] = {}
    for item in fields.items("hooks"):
        members = item.members("name", "version", "config", required=("name",))
        hook = _step(members)
        if hook.name and hook.name in hooks:
            members.values["name"].error("duplicate", "A hook of this name is already in the list.")
        hooks[hook.name] = hook
    return tuple(hooks.values())


def _window(version: int, nested: Value | None, top: Value | None) -> Window:
    """Read the window of the task. Optimus' guide writes it at the top level, where Optimus ignores it."""
    if top is not None and nested is not None:
        top.error("duplicate", "The job has two windows. Remove this one and keep the window of the task.")
    elif top is not None:
        top.warn(
            "misplaced", "The window belongs to the task; Optimus ignores it here.", "Move it below task."
        )
    value = nested if nested is not None else top
    if value is None:
        return Window(version)
    fields = value.members("size", "offset", "truncate_to")
    texts = {name: _window_text(field) for name, field in fields.values.items()}
    window = Window(version, texts.get("truncate_to", ""), texts.get("offset", ""), texts.get("size", ""))
    try:
        check_window(window)
    except InvalidWindow as error:
        fields.values.get(error.field, value).error("invalid_window", error.message)
    return window


def _window_text(value: Value) -> str:
    """Return the text; 0 is often written without quotation marks."""
    return "0" if value.value == 0 and type(value.value) is int else value.text()


def _dependency(value: Value) -> Dependency:
    fields = value.members("job", "type", "http")
    job, http = fields.text("job"), fields.get("http")
    if not job and http is None and isinstance(value.value, dict):
        value.error("required", "A dependency needs a job or an HTTP endpoint.")
    return Dependency(job, fields.text("type"), None if http is None else _http(http))


def _http(value: Value) -> HttpDependency:
    fields = value.members("name", "url", "params", "headers", required=("name", "url"))
    return HttpDependency(
        fields.non_empty_text("name"),
        fields.non_empty_text("url"),
        fields.texts("params"),
        fields.texts("headers"),
    )


def _metadata(fields: Members) -> Metadata:
    resource = fields.members("resource", "request", "limit")
    airflow = fields.members("airflow", "pool", "queue")
    request, limit = (resource.members(name, "memory", "cpu") for name in ("request", "limit"))
    return Metadata(
        Resources(request.text("memory"), request.text("cpu")),
        Resources(limit.text("memory"), limit.text("cpu")),
        airflow.text("pool"),
        airflow.text("queue"),
    )
