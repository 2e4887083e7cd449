"""Rules that an installation begins with. They do nothing until somebody chooses a channel."""

from __future__ import annotations

from controlplane.notifications.models import NotificationRule
from controlplane.notifications.rules import FLYTE_WORKFLOW, Mode, RuleSpec, Severity

_GUARD = (
    "{{ data.silent }} of {{ data.agents }} agents of the environment '{{ data.environment }}' are silent."
    " The guard is engaged: none is marked unavailable, and no work is placed elsewhere. {{ data.reason }}"
)
BUILT_IN = (
    RuleSpec(
        "Fleet guard",
        {"types": ["fleet_guard.engaged"]},
        mode=Mode.PAGED,
        severity=Severity.CRITICAL,
        subject="{{ data.silent }} of {{ data.agents }} agents silent: {{ data.environment }}",
        body=_GUARD,
    ),
    RuleSpec(
        "Emergency access",
        {"types": ["access.break_glass_opened"]},
        mode=Mode.PAGED,
        severity=Severity.CRITICAL,
        subject="Emergency access: {{ data.principal }} until {{ data.ends_at }}",
        body="{{ data.principal }} has opened emergency access as administrator. Reason: {{ data.reason }}",
    ),
    RuleSpec("Agents unavailable", {"types": ["agent.unavailable"]}, mode=Mode.DIGEST),
    RuleSpec("Bundles rejected", {"types": ["agent_config_bundle.rejected"]}, mode=Mode.DIGEST),
    RuleSpec("Configuration conflicts", {"types": ["agent_config.status_changed"]}, mode=Mode.DIGEST),
    RuleSpec("Sources refused", {"types": ["overrides_source.refused", "agent_config_folder.refused"]}),
    RuleSpec("Sinks disabled", {"types": ["sink.disabled"]}),
    RuleSpec("Secrets expiring", {"types": ["client_secret.expiring"]}, mode=Mode.DIGEST),
    RuleSpec(
        "Alertmanager",
        {"types": ["alertmanager.firing"]},
        subject="{{ data.name }}: {{ data.annotations.summary }}",
        body="{{ data.annotations.description }}",
    ),
    RuleSpec(
        "Flyte executions failed",
        {"types": [FLYTE_WORKFLOW], "phases": ["FAILED", "TIMED_OUT"]},
        mode=Mode.DIGEST,
        subject="",
    ),
)


def create_built_in_rules() -> None:
    """Create the rules of a new installation, without creator and channel."""
    present = set(NotificationRule.objects.filter(team=None).values_list("name", flat=True))
    NotificationRule.objects.bulk_create(
        NotificationRule(
            name=spec.name,
            when=dict(spec.when),
            mode=str(spec.mode),
            severity=str(spec.severity),
            subject=spec.subject,
            body=spec.body,
        )
        for spec in BUILT_IN
        if spec.name not in present
    )
