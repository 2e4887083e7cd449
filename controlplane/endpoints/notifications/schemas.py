"""API schemas of notification rules."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Text, Whole
from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from controlplane.endpoints.sinks.schemas import SinkFilterWrite
from controlplane.notifications.models import MODES, SEVERITIES, NotificationRule
from controlplane.notifications.occurrences import Occurrence
from controlplane.notifications.quiet_hours import DAYS
from controlplane.notifications.rehearsal import Rehearsed
from controlplane.notifications.rule_checks import PHASES
from controlplane.notifications.rules import RuleSpec

PHASE_NAMES = [(phase, phase) for phase in PHASES]
DAY_NAMES = [(day, day) for day in DAYS]
_DAY_SECONDS = 86_400


class RuleWhenWrite(SinkFilterWrite):
    """All parts must hold. phases: of Flyte's workflow events."""

    phases = serializers.ListField(child=serializers.ChoiceField(PHASE_NAMES), required=False, max_length=4)


class QuietWindowWrite(StrictSerializer):
    days = serializers.ListField(
        child=serializers.ChoiceField(DAY_NAMES), required=False, max_length=7, help_text="All, if omitted."
    )
    to = Text(max_length=5, help_text="Such as 07:00. At or before `from`: on the next day.")

    def get_fields(self) -> Any:
        # A keyword of Python.
        begin = Text(max_length=5, help_text="Such as 22:00.")
        return {**super().get_fields(), "from": begin}


class QuietHoursWrite(StrictSerializer):
    tz = Text(max_length=64, help_text="Time zone, such as Europe/Prague.")
    windows = QuietWindowWrite(many=True)

    def get_fields(self) -> Any:
        # A keyword of Python.
        severities = serializers.ListField(
            child=serializers.ChoiceField(SEVERITIES), required=False, help_text="These never wait."
        )
        return {**super().get_fields(), "except": severities}


class NotificationRuleWrite(StrictSerializer):
    name = Text(max_length=63, help_text="Unique within the team.")
    when = RuleWhenWrite()
    to = serializers.ListField(
        child=serializers.UUIDField(),
        max_length=10,
        help_text="Ids of channels. With `escalate_seconds`, each comes after the one before it.",
    )
    mode = serializers.ChoiceField(
        MODES,
        required=False,
        default="each",
        help_text="`each`: a message per alert. `digest`: one per window. `paged`: at once, even in quiet"
        " hours. 20 alerts within a window are one message in every mode.",
    )
    digest_seconds = Whole(required=False, default=60, min_value=1, max_value=_DAY_SECONDS)
    quiet_hours = QuietHoursWrite(required=False, help_text="Messages wait until they end.")
    severity = serializers.ChoiceField(SEVERITIES, required=False, default="warning")
    dedupe_key = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=255,
        help_text="Template. Events with one key are one alert. Default: the object.",
    )
    retract = serializers.BooleanField(
        required=False, default=True, help_text="Whether opposite events, such as `agent.ready`, end alerts."
    )
    escalate_seconds = Whole(required=False, allow_null=True, min_value=30, max_value=_DAY_SECONDS)
    max_per_hour = Whole(
        required=False, default=60, min_value=1, max_value=3600, help_text="More wait, and are one message."
    )
    subject = Text(
        required=False,
        allow_blank=True,
        default="",
        max_length=500,
        help_text="Template, such as `{{ data.name }} failed`. Unknown variables are errors.",
    )
    body = Text(required=False, allow_blank=True, default="", max_length=8000, lines=True)
    is_active = serializers.BooleanField(required=False, default=True)


class NotificationRuleCreate(NotificationRuleWrite):
    team = Text(
        required=False,
        allow_null=True,
        max_length=63,
        help_text="Team that owns the rule. If omitted: the only team that you could give it to.",
    )


class NotificationRuleRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    team = serializers.CharField(allow_null=True, help_text="Null for the platform.")
    when = serializers.DictField()
    to = serializers.ListField(child=serializers.UUIDField())
    mode = serializers.ChoiceField(MODES)
    digest_seconds = serializers.IntegerField()
    quiet_hours = serializers.DictField()
    severity = serializers.ChoiceField(SEVERITIES)
    dedupe_key = serializers.CharField(allow_blank=True)
    retract = serializers.BooleanField()
    escalate_seconds = serializers.IntegerField(allow_null=True)
    max_per_hour = serializers.IntegerField()
    subject = serializers.CharField(allow_blank=True)
    body = serializers.CharField(allow_blank=True)
    is_active = serializers.BooleanField()
    created_by = serializers.CharField(
        allow_null=True,
        help_text="With whose permissions events are chosen. Null for a built-in rule without a channel.",
    )
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class NotificationRulePage(serializers.Serializer[Any]):
    items = NotificationRuleRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class NotificationRuleQuery(PageQuery):
    is_active = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="Only active rules, or only others."
    )
    q = SearchField("name", "subject")
    sort = SortField(SortKeys.of("name", "severity", "is_active", created_at="id"), default="-created_at")


class RehearsedAlert(serializers.Serializer[Any]):
    seq = serializers.IntegerField()
    type = serializers.CharField()
    at = serializers.DateTimeField()
    title = serializers.CharField()
    text = serializers.CharField(allow_blank=True)


class NotificationRulePreview(serializers.Serializer[Any]):
    looked_at = serializers.IntegerField(help_text="Events of the last day that you may read, up to 5,000.")
    matching = serializers.IntegerField()
    alerts = serializers.IntegerField()
    messages = serializers.IntegerField(help_text="New messages; changes of them are not counted.")
    suppressed = serializers.IntegerField(help_text="Alerts that ended before a message was sent.")
    examples = RehearsedAlert(many=True, help_text="The last ones, newest first, at most 20.")


def spec_from(body: dict[str, Any]) -> RuleSpec:
    """Return what a body of NotificationRuleWrite says."""
    given = {name: value for name, value in body.items() if name not in ("team", "to")}
    return RuleSpec(to=tuple(body["to"]), **given)


def show_rule(rule: NotificationRule) -> dict[str, Any]:
    return {
        "id": str(rule.id),
        "name": rule.name,
        "team": rule.team.slug if rule.team else None,
        "when": rule.when,
        "to": rule.to,
        "mode": rule.mode,
        "digest_seconds": rule.digest_seconds,
        "quiet_hours": rule.quiet_hours,
        "severity": rule.severity,
        "dedupe_key": rule.dedupe_key,
        "retract": rule.retract,
        "escalate_seconds": rule.escalate_seconds,
        "max_per_hour": rule.max_per_hour,
        "subject": rule.subject,
        "body": rule.body,
        "is_active": rule.is_active,
        "created_by": rule.created_by.name if rule.created_by else None,
        "version": rule.version,
        "created_at": rule.created_at,
    }


def show_rehearsed(rehearsed: Rehearsed) -> dict[str, Any]:
    return {
        "looked_at": rehearsed.looked_at,
        "matching": rehearsed.matching,
        "alerts": rehearsed.alerts,
        "messages": rehearsed.messages,
        "suppressed": rehearsed.suppressed,
        "examples": [_show_example(example) for example in rehearsed.examples],
    }


def _show_example(example: Occurrence) -> dict[str, Any]:
    event = example.event
    return {
        "seq": event.seq,
        "type": event.type,
        "at": event.at,
        "title": example.title,
        "text": example.text,
    }
