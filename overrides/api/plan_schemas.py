"""The shapes of plans: what a change does, document by document and value by value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from controlplane.api.scopes import ScopeRead, show_scope
from overrides.api.schemas import AnyJSONField
from overrides.documents.catalogue_documents import Made
from overrides.documents.export import Applied
from overrides.editing.plans import ChangeKind, Difference, EffectiveChange, KeptOut, Plan, PlannedChange
from overrides.resolution.leaves import ABSENT

CHANGE_KINDS = [(one.value, one.value) for one in ChangeKind]
# More changes than this are counted, not listed: nobody reads ten thousand.
LISTED = 1000


class LeafDifference(serializers.Serializer[Any]):
    leaf = serializers.CharField(help_text="The value's place; items of lists stand by name, not by index.")
    before = AnyJSONField(required=False, help_text="Absent if there was none.")
    after = AnyJSONField(required=False, help_text="Absent if there is none any more.")


class PlannedChangeRead(serializers.Serializer[Any]):
    resource_type = serializers.CharField()
    scope = ScopeRead()
    change = serializers.ChoiceField(choices=CHANGE_KINDS)
    version = serializers.IntegerField(help_text="The version that it gets.")
    differences = LeafDifference(many=True)
    declared_in = serializers.CharField()


class EffectiveChangeRead(serializers.Serializer[Any]):
    scope = ScopeRead()
    resource_type = serializers.CharField()
    differences = LeafDifference(many=True)


class PlanSummary(serializers.Serializer[Any]):
    created = serializers.IntegerField()
    updated = serializers.IntegerField()
    deleted = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class InstallationChange(serializers.Serializer[Any]):
    kind = serializers.CharField()
    name = serializers.CharField()
    change = serializers.ChoiceField(choices=CHANGE_KINDS)


class KeptOutValue(serializers.Serializer[Any]):
    """A stored value that a new or changed guard rail keeps from applying."""

    scope = ScopeRead()
    resource_type = serializers.CharField()
    leaf = serializers.CharField()
    value = AnyJSONField()
    rail = serializers.CharField(help_text="Name of the guard rail.")
    why_not = serializers.CharField()


class PlanRead(serializers.Serializer[Any]):
    """What a change does, or with dry_run would do."""

    revision = serializers.IntegerField(help_text="The revision that it makes; 0 if nothing changes.")
    summary = PlanSummary()
    affected_scopes = serializers.IntegerField(
        help_text="At how many scopes effective values change: where the type is set, and every registered "
        "project in every domain."
    )
    digest = serializers.CharField(
        help_text="Identifies exactly this change. Sent as `confirm`, it confirms all that the change does. "
        "Empty if nothing changes."
    )
    confirm = serializers.CharField(
        allow_null=True, help_text="What to send as `confirm`; null if no confirmation is needed."
    )
    confirm_reason = serializers.CharField(help_text="Why a confirmation is needed; else empty.")
    installation = InstallationChange(
        many=True, help_text="Projects, domains, types and rails of the documents, as far as they change."
    )
    changes = PlannedChangeRead(many=True, help_text=f"What changes; {LISTED} at most are listed.")
    effective = EffectiveChangeRead(many=True, help_text="The first changes of effective values.")
    kept_out = KeptOutValue(
        many=True, help_text="Stored values that changed guard rails newly keep from applying; the first."
    )


def show_plan(plan: Plan, made: Sequence[Made] = ()) -> dict[str, Any]:
    changing = [one for one in plan.changes if one.kind is not ChangeKind.UNCHANGED]
    return {
        "revision": plan.revision,
        "summary": {kind.value: plan.count(kind) for kind in ChangeKind},
        "affected_scopes": plan.affected,
        "digest": plan.digest,
        "confirm": plan.confirmation.confirm if plan.confirmation else None,
        "confirm_reason": plan.confirmation.reason if plan.confirmation else "",
        "installation": [
            {"kind": one.kind, "name": one.name, "change": one.change}
            for one in made
            if one.change != ChangeKind.UNCHANGED
        ],
        "changes": [_show_change(one) for one in changing[:LISTED]],
        "effective": [_show_effective(one) for one in plan.effective],
        "kept_out": [_show_kept_out(value) for value in plan.kept_out[:LISTED]],
    }


def show_applied(applied: Applied) -> dict[str, Any]:
    return show_plan(applied.plan, applied.made)


def show_differences(found: Sequence[Difference]) -> list[dict[str, Any]]:
    return [
        {"leaf": one.leaf}
        | ({} if one.before is ABSENT else {"before": one.before})
        | ({} if one.after is ABSENT else {"after": one.after})
        for one in found
    ]


def _show_change(one: PlannedChange) -> dict[str, Any]:
    return {
        "resource_type": one.address.resource_type,
        "scope": show_scope(one.address.scope),
        "change": one.kind.value,
        "version": one.version,
        "differences": show_differences(one.differences),
        "declared_in": one.declared_in,
    }


def _show_effective(one: EffectiveChange) -> dict[str, Any]:
    return {
        "scope": show_scope(one.scope),
        "resource_type": one.resource_type,
        "differences": show_differences(one.differences),
    }


def _show_kept_out(value: KeptOut) -> dict[str, Any]:
    return {
        "scope": show_scope(value.scope),
        "resource_type": value.resource_type,
        "leaf": value.leaf,
        "value": value.value,
        "rail": value.rail,
        "why_not": value.because,
    }
