"""The plugin of a job's task or hook: in which release it is, and how it runs."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from controlplane.errors import UnknownPlugin
from registry.jobs.job_spec import JobSpec, Step
from registry.jobs.models import Job, JobRun
from registry.jobs.run_input import InstanceType
from registry.plugin_releases.models import PluginArtifact, PluginRelease, ReleasedPlugin, ReleaseState
from registry.plugin_releases.node_installation import usable_artifact
from registry.plugins.documents.executors import Executor, InvalidExecutor, render_executor
from registry.plugins.documents.spec_v1 import SpecV1
from registry.plugins.documents.spec_v2 import DEFAULT_VERSION, SpecV2, UnknownVersion
from registry.plugins.documents.specs import read_spec
from registry.plugins.variables import UnknownVariable


@dataclass(frozen=True, slots=True)
class FoundPlugin:
    """A plugin as a release has it, with the variables of its configuration in place.

    runs_after_failures: it is a hook of type `fail`.
    """

    release: PluginRelease
    executor: Executor
    runs_after_failures: bool = False


def step_of(spec: JobSpec, instance_type: InstanceType, name: str) -> Step:
    """Return the task or the hook of this name. Raises UnknownPlugin, which lists the hooks."""
    if instance_type is InstanceType.TASK:
        if name in ("", spec.task.name):
            return spec.task
        raise UnknownPlugin(f"The task of the job is {spec.task.name}.")
    for hook in spec.hooks:
        if hook.name == name:
            return hook
    names = ", ".join(hook.name for hook in spec.hooks) or "none"
    raise UnknownPlugin(f"The job has no hook {name[:63]!r}. Its hooks: {names}.")


def active_plugin(job: Job, plugin: str) -> ReleasedPlugin:
    """Return the plugin in the active release of the job's team, or else of the platform.

    Raises UnknownPlugin.
    """
    rows = ReleasedPlugin.objects.filter(name=plugin, release__state=ReleaseState.ACTIVE)
    of_platform = rows.filter(release__plugin_set__team=None)
    of_team = rows.filter(release__plugin_set__team=job.plugin_team_id) if job.plugin_team_id else rows.none()
    row = _with_release(of_team).first() or _with_release(of_platform).first()
    if row is None:
        raise UnknownPlugin(
            f"No active release has the plugin {plugin!r}. `cpctl plugins list` shows those that there are."
        )
    return row


@dataclass(frozen=True, slots=True)
class ChosenPlugin:
    """A plugin of a release, with the archive that it runs as; None if none was ever fetched."""

    row: ReleasedPlugin
    artifact: PluginArtifact | None


def plugin_of_run(job: Job, run: JobRun, plugin: str) -> ChosenPlugin:
    """Return the plugin that the run began with; before its first input, the active one.

    Raises UnknownPlugin.
    """
    if plugin not in run.releases:
        row = active_plugin(job, plugin)
        return ChosenPlugin(row, usable_artifact(row))
    rows = ReleasedPlugin.objects.filter(release=run.releases[plugin], name=plugin)
    pinned = _with_release(rows).first()
    if pinned is None:
        raise UnknownPlugin(f"The release of the run has no plugin {plugin!r} any more.")
    if plugin not in run.artifacts:  # a run that began before archives were kept with runs
        return ChosenPlugin(pinned, usable_artifact(pinned))
    return ChosenPlugin(pinned, PluginArtifact.objects.filter(id=run.artifacts[plugin]).first())


def found_plugin(chosen: ChosenPlugin, version: str) -> FoundPlugin:
    """Return how a plugin runs. version: that a job pins, or empty. Raises UnknownPlugin."""
    row, artifact = chosen.row, chosen.artifact
    if artifact is None:
        raise UnknownPlugin(f"The archive of the plugin {row.name!r} was never fetched: {row.problem}")
    if artifact.spec is None:
        raise UnknownPlugin(
            f"The archive of the plugin {row.name!r} has no specification, so no job can use it."
        )
    spec = read_spec(artifact.spec).content
    try:
        executor = render_executor(_executor(row.name, spec, version), row.entry["config"])
    except (UnknownVersion, UnknownVariable, InvalidExecutor) as error:
        raise UnknownPlugin(f"The plugin {row.name!r} cannot run: {error}") from error
    return FoundPlugin(row.release, executor, isinstance(spec, SpecV1) and spec.hook_type == "fail")


def image_of(row: ReleasedPlugin) -> str:
    """Return the image that jobs run by default; empty if no job can run the plugin."""
    try:
        return found_plugin(ChosenPlugin(row, usable_artifact(row)), "").executor.image
    except UnknownPlugin:
        return ""


def _executor(name: str, spec: SpecV1 | SpecV2 | None, version: str) -> Executor:
    if spec is None:
        raise UnknownVersion(f"The specification of {name!r} is no longer valid. Release it again.")
    if not isinstance(spec, SpecV1):
        return spec.executor(version or DEFAULT_VERSION)
    if version not in ("", spec.version):
        raise UnknownVersion(f"The plugin has version {spec.version} alone, and the job wants {version}.")
    return spec.executor


def _with_release(rows: QuerySet[ReleasedPlugin]) -> QuerySet[ReleasedPlugin]:
    return rows.select_related("release__plugin_set__team", "artifact", "fallback")
