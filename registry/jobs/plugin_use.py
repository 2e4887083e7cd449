"""Which jobs use a plugin, as far as a caller may read the jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db.models import QuerySet

from controlplane.identity.callers import Caller
from registry.jobs.models import Job, JobStep
from registry.jobs.stored_jobs import visible_jobs
from registry.plugin_releases.models import ReleasedPlugin


def jobs_of_plugins(caller: Caller, rows: Iterable[ReleasedPlugin]) -> Counter[tuple[str, str]]:
    """Return the number of jobs by team (empty: the platform) and plugin. A job counts once a plugin."""
    names = {row.name for row in rows}
    steps = JobStep.objects.filter(plugin__in=names, job__in=visible_jobs(caller))
    pairs = steps.values_list("job__plugin_team__slug", "plugin", "job_id").distinct()
    found = Counter((team or "", plugin) for team, plugin, _ in pairs)
    # A team's job uses the platform's plugin where its team has none of this name.
    with_team = {(team, plugin) for team, plugin in found if team}
    own = set(_released_names(with_team))
    for team, plugin in with_team - own:
        found["", plugin] += found.pop((team, plugin))
    return found


def jobs_of(caller: Caller, plugin: str) -> QuerySet[Job]:
    """Return the jobs whose task or hook is the plugin."""
    return visible_jobs(caller).filter(steps__plugin=plugin).distinct().order_by("project_id", "name")


def _released_names(pairs: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    pairs = list(pairs)
    rows = ReleasedPlugin.objects.filter(
        release__state="active",
        release__plugin_set__team__slug__in={team for team, _ in pairs},
        name__in={plugin for _, plugin in pairs},
    )
    return rows.values_list("release__plugin_set__team__slug", "name")
