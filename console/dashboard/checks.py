"""Checks of all but the fleet. Each states only what the caller may read, and was looked at."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Min
from django.urls import reverse

from console.dashboard.findings import Check, Finding, Severity, Step
from console.overrides.write_mode import readable_source
from console.sinks.lookup import stopped_sinks
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.notifications.alert_states import AlertState
from controlplane.notifications.alerts import visible_alerts
from registry.agent_configs.models import AgentConfigStatus
from registry.agent_configs.publishing.hidden_teams import hidden_teams, planes_with_visible_names
from registry.api.agent_configs.document_schemas import show_conflicts

_MOST_ERRORS = 3


def check_agent_configs(caller: Caller) -> Check:
    """Check for documents with rejected claims."""
    if not caller.owners_for(Action.AGENT_CONFIG_READ):
        return Check("agent configurations", allowed=False)
    hidden = hidden_teams(caller)
    conflicting = AgentConfigStatus.objects.exclude(conflicts=[])
    conflicting = conflicting.filter(hidden.visible("document__team"), planes_with_visible_names(caller))
    rows = list(conflicting.select_related("document").order_by("id")[:2])
    if not rows:
        readable = " that you can read" if hidden else ""
        return Check("agent configurations", passed=f"No agent configuration{readable} has a rejected claim.")
    if len(rows) == 1:
        finding = _conflict(rows[0], show_conflicts(rows[0].conflicts, hidden))
    else:
        count = conflicting.values("document").distinct().count()
        step = Step("Review conflicts", reverse("agent-config-conflicts"))
        who = "1 agent configuration has" if count == 1 else f"{count} agent configurations have"
        finding = Finding(Severity.WARNING, f"{who} rejected claims", steps=(step,))
    return Check("agent configurations", (finding,))


def _conflict(row: AgentConfigStatus, rejected: list[dict[str, Any]]) -> Finding:
    more = f" And {len(rejected) - 1} more." if len(rejected) > 1 else ""
    return Finding(
        Severity.WARNING,
        f"{row.document.team}/{row.document.name} has a rejected claim in {row.data_plane_id}",
        f"{rejected[0]['message']}{more}",
        steps=(Step("Review conflict", reverse("agent-config-conflicts")),),
    )


def check_overrides(caller: Caller) -> Check:
    """Check the source of overrides."""
    if not caller.scopes_for(Action.OVERRIDE_READ):
        return Check("overrides", allowed=False)
    source = readable_source(caller)
    step = Step("Show overrides", reverse("overrides"))
    findings = []
    if source["errors"]:
        detail = f"The last valid files stay active. {_describe_errors(source['errors'])}"
        findings.append(Finding(Severity.PROBLEM, "Override files have errors", detail, steps=(step,)))
    if source["pending"]:
        detail = "Confirm the removal with POST /api/v1/overrides/source:confirm."
        summary = f"New override files would remove {counted(source['pending']['removals'], 'override')}"
        findings.append(Finding(Severity.PROBLEM, summary, detail, steps=(step,)))
    whole = caller.verdict(Action.OVERRIDE_READ).allowed
    return Check("overrides", tuple(findings), _describe_source(source, whole=whole))


def _describe_errors(errors: list[dict[str, Any]]) -> str:
    lines = []
    for error in errors[:_MOST_ERRORS]:
        line = f":{error['line']}" if error.get("line") else ""
        lines.append(f"{error['file']}{line} {error['message']}")
    more = len(errors) - _MOST_ERRORS
    return " ".join(lines) + (f" And {more} more." if more > 0 else "")


def _describe_source(source: dict[str, Any], *, whole: bool) -> str:
    if source["source"] != "file":
        return "Overrides are stored in the database."
    return "Overrides are loaded from files and up to date." if whole else "Overrides are loaded from files."


def check_sinks(caller: Caller) -> Check:
    """Check for sinks that get no events. Few roles read sinks: not to check them is not worth a word."""
    if not caller.owners_for(Action.SINK_READ):
        return Check("event sinks", allowed=False, is_named=False)
    stopped = stopped_sinks(caller)
    if not stopped:
        return Check("event sinks", passed="Every event sink is active or paused by a person.")
    steps = tuple(
        Step(f"{sink.name} ({sink.state}, {sink.reason})", reverse("sink", args=[sink.id]))
        for sink in stopped
    )
    steps = (*steps, Step("Show sinks", reverse("sinks")))
    return Check("event sinks", (Finding(Severity.WARNING, "Event sinks get no events", steps=steps),))


def check_alerts(caller: Caller) -> Check:
    """Check for alerts that nobody looks after."""
    if not caller.owners_for(Action.NOTIFICATION_READ):
        return Check("alerts", allowed=False, is_named=False)
    firing = visible_alerts(caller).filter(state=AlertState.FIRING.value)
    counted = firing.aggregate(count=Count("pk"), since=Min("first_at"))
    count = counted["count"]
    if not count:
        return Check("alerts", passed="No alert is firing.")
    summary = "1 alert is firing" if count == 1 else f"{count:,} alerts are firing"
    step = Step("Show alerts", reverse("alerts"))
    return Check("alerts", (Finding(Severity.WARNING, summary, since=counted["since"], steps=(step,)),))
