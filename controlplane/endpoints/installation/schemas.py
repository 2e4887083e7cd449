"""API schemas of the state of the installation, and of reports of backups."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import Instant, StrictSerializer, Text, Whole
from controlplane.endpoints.installation.capabilities import features, limits
from controlplane.installation.backlog import Waiting
from controlplane.installation.backup_reports import LONGEST_WITHIN, NEXT_WITHIN
from controlplane.installation.models import Backup
from controlplane.installation.state import BackupState, Installation
from controlplane.members.reading import Members, MemberState
from controlplane.members.versions import Skew
from controlplane.observability.alerting.checks import Check
from controlplane.observability.alerting.rules import Severity

CHECK_SEVERITIES = [(severity.value, severity.value) for severity in Severity]
SKEWS = [(skew.value, skew.value) for skew in Skew]
_LARGEST_BIGINT = (1 << 63) - 1


class CheckRead(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="As the alert of Prometheus.")
    is_good = serializers.BooleanField()
    severity = serializers.ChoiceField(CHECK_SEVERITIES, help_text="page: somebody must act now.")
    about = serializers.CharField(help_text="Which one is meant, such as a stream. Empty: there is only one.")
    value = serializers.FloatField(allow_null=True, help_text="The figure beyond its limit; null if good.")
    meaning = serializers.CharField(help_text="What it means if the check fails.")
    runbook = serializers.CharField(help_text="Page and heading on what to do.")


class ProcessRead(serializers.Serializer[Any]):
    process = serializers.CharField(help_text="Its kind, such as web, worker, beat or relay.")
    instance = serializers.CharField(help_text="Its name among processes of its kind.")
    host = serializers.CharField()
    pid = serializers.IntegerField()
    version = serializers.CharField()
    commit = serializers.CharField(allow_blank=True, help_text="Empty if unknown.")
    started_at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField(help_text="It tells of itself every 10 seconds.")
    is_gone = serializers.BooleanField(help_text="Not heard for 60 seconds. Removed after a day.")
    skew = serializers.ChoiceField(
        SKEWS,
        help_text="`skewed`: another version runs beside it. `newer_schema`: the database has migrations that"
        " it does not know. Both are supported during an upgrade. `schema_missing`: it needs migrations that"
        " were not applied. `too_old`: the schema no longer supports it.",
    )


class ProcessesRead(serializers.Serializer[Any]):
    skew = serializers.ChoiceField(SKEWS, help_text="The worst of all processes that run.")
    skewed_seconds = serializers.FloatField(help_text="For how long several versions have run; 0 for one.")
    oldest_version = serializers.CharField(
        allow_blank=True, help_text="The oldest version that the schema supports. Empty if unknown."
    )
    versions = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many processes run of each version."
    )
    items = ProcessRead(many=True)


class WaitingRead(serializers.Serializer[Any]):
    count = serializers.IntegerField()
    oldest_seconds = serializers.FloatField(help_text="For how long the oldest has waited.")


class BacklogRead(serializers.Serializer[Any]):
    outbox = WaitingRead(help_text="Messages for agents.")
    deliveries = WaitingRead(help_text="Events for active sinks.")
    events = WaitingRead(help_text="Events without a number, at most 10,000: nobody can follow them yet.")
    dead_letters = serializers.IntegerField()


class EngagedGuardRead(serializers.Serializer[Any]):
    environment = serializers.CharField(allow_blank=True, help_text="Empty: the whole fleet.")
    engaged_at = serializers.DateTimeField()
    silent = serializers.IntegerField(help_text="Silent agents at the last sweep.")
    agents = serializers.IntegerField(help_text="All agents at the last sweep.")
    reason = serializers.CharField(allow_blank=True)


class SourceFacts(serializers.Serializer[Any]):
    name = serializers.CharField()
    state = serializers.CharField(help_text="`current`, `failing` or `awaiting_confirmation`.")
    is_stale = serializers.BooleanField(help_text="What the source has now is not in force.")
    checked_at = serializers.DateTimeField(allow_null=True)
    loaded_at = serializers.DateTimeField(allow_null=True, help_text="The last good read.")
    problems = serializers.IntegerField(help_text="How many the last read found.")


class BackupFacts(serializers.Serializer[Any]):
    finished_at = serializers.DateTimeField()
    next_within_seconds = serializers.IntegerField()
    size_bytes = serializers.IntegerField(allow_null=True)
    location = serializers.CharField(allow_blank=True)
    reported_by = serializers.CharField()
    overdue_seconds = serializers.FloatField(help_text="For how long the next one is overdue.")


class MetaRead(serializers.Serializer[Any]):
    version = serializers.CharField()
    commit = serializers.CharField(allow_blank=True, help_text="Empty if unknown.")
    server_time = serializers.DateTimeField(help_text="The database's clock.")
    schema = serializers.DictField(
        child=serializers.CharField(), help_text="The last migration of each part of the database."
    )
    limits = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Limits of this installation, such as `page_items`; the names have the units. 0: no limit.",
    )
    features = serializers.DictField(
        child=serializers.BooleanField(), help_text="Whether each optional feature is on, such as `scim`."
    )
    is_good = serializers.BooleanField(help_text="No check fails.")
    checks = CheckRead(many=True)
    members = ProcessesRead(help_text="The processes that tell of themselves.")
    backlog = BacklogRead()
    guards = EngagedGuardRead(many=True, help_text="Fleet guards that are engaged.")
    sources = SourceFacts(many=True, help_text="Folders and clusters that are followed.")
    backup = BackupFacts(allow_null=True, help_text="The last one. Null if none was ever reported.")
    archives = serializers.DictField(
        child=serializers.DateTimeField(),
        help_text="When a month of each log was last archived and verified.",
    )


class BackupWrite(StrictSerializer):
    finished_at = Instant(required=False, allow_null=True, default=None, help_text="Now, if omitted.")
    next_within_seconds = Whole(
        required=False,
        default=int(NEXT_WITHIN.total_seconds()),
        min_value=60,
        max_value=int(LONGEST_WITHIN.total_seconds()),
        help_text="After it, the next one is overdue.",
    )
    size_bytes = Whole(required=False, allow_null=True, default=None, min_value=0, max_value=_LARGEST_BIGINT)
    location = Text(
        required=False,
        default="",
        allow_blank=True,
        max_length=255,
        help_text="Where it is, in your words. Everybody who reads the status sees it.",
    )


class BackupRead(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    finished_at = serializers.DateTimeField()
    next_within_seconds = serializers.IntegerField()
    size_bytes = serializers.IntegerField(allow_null=True)
    location = serializers.CharField(allow_blank=True)
    reported_by = serializers.CharField()
    reported_at = serializers.DateTimeField()


def show_installation(installation: Installation) -> dict[str, Any]:
    backlog = installation.backlog
    return {
        "version": installation.version,
        "commit": installation.commit,
        "server_time": installation.server_time,
        "schema": installation.schema,
        "limits": limits(),
        "features": features(),
        "is_good": installation.is_good,
        "checks": [_show_check(check) for check in installation.checks],
        "members": _show_members(installation.members),
        "backlog": {
            "outbox": _show_waiting(backlog.outbox),
            "deliveries": _show_waiting(backlog.deliveries),
            "events": _show_waiting(backlog.events),
            "dead_letters": backlog.dead_letters,
        },
        "guards": [_plain(guard, EngagedGuardRead) for guard in installation.guards],
        "sources": [_plain(source, SourceFacts) for source in installation.sources],
        "backup": _show_last(installation.backup) if installation.backup else None,
        "archives": installation.archives,
    }


def show_backup(backup: Backup) -> dict[str, Any]:
    return {**_plain(backup, BackupRead), "id": str(backup.id)}


def _plain(subject: object, schema: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the attributes that the schema names."""
    return {name: getattr(subject, name) for name in schema._declared_fields}


def _show_check(check: Check) -> dict[str, Any]:
    return {**_plain(check, CheckRead), "severity": check.severity.value}


def _show_members(members: Members) -> dict[str, Any]:
    return {
        "skew": members.skew.value,
        "skewed_seconds": members.skewed_for.total_seconds(),
        "oldest_version": members.oldest_process,
        "versions": members.versions,
        "items": [_show_member(member) for member in members.items],
    }


def _show_member(member: MemberState) -> dict[str, Any]:
    return {**_plain(member, ProcessRead), "skew": member.skew.value}


def _show_waiting(waiting: Waiting) -> dict[str, Any]:
    return _plain(waiting, WaitingRead)


def _show_last(backup: BackupState) -> dict[str, Any]:
    return {
        "finished_at": backup.finished_at,
        "next_within_seconds": int(backup.next_within.total_seconds()),
        "size_bytes": backup.size_bytes,
        "location": backup.location,
        "reported_by": backup.reported_by,
        "overdue_seconds": backup.overdue.total_seconds(),
    }
