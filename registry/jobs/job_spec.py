"""Jobs as their documents define them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from registry.jobs.windows import Window


@dataclass(frozen=True, slots=True)
class Schedule:
    start_date: str
    end_date: str = ""
    interval: str = ""


@dataclass(frozen=True, slots=True)
class Retry:
    """delay: in nanoseconds."""

    count: int = 0
    delay: int = 0
    exponential_backoff: bool = False


@dataclass(frozen=True, slots=True)
class Notification:
    on: str
    config: Mapping[str, str] = field(default_factory=dict)
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """The task or a hook of a job: a plugin with its configuration. version: of the plugin, if pinned."""

    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    version: str = ""


@dataclass(frozen=True, slots=True)
class HttpDependency:
    name: str
    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another job, or an answer of an HTTP endpoint."""

    job: str = ""
    type: str = ""
    http: HttpDependency | None = None


@dataclass(frozen=True, slots=True)
class Resources:
    memory: str = ""
    cpu: str = ""


@dataclass(frozen=True, slots=True)
class Metadata:
    request: Resources = field(default_factory=Resources)
    limit: Resources = field(default_factory=Resources)
    airflow_pool: str = ""
    airflow_queue: str = ""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A job. Its files are not part of the document."""

    version: int
    name: str
    owner: str
    schedule: Schedule
    task: Step
    window: Window
    description: str = ""
    depends_on_past: bool = False
    retry: Retry = field(default_factory=Retry)
    notifications: tuple[Notification, ...] = ()
    hooks: tuple[Step, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    metadata: Metadata = field(default_factory=Metadata)
