"""Schemas of plans: what a change does, by document and by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from controlplane.api.scopes import ScopeRead, show_scope
from controlplane.identity.callers import Caller
from overrides.api.schemas import AnyJSONField
from overrides.documents.catalogue_documents import CatalogueChange
from overrides.editing.approved import show_policy
from overrides.editing.frozen import show_frozen
from overrides.editing.plans import (
    ChangeKind,
    Difference,
    EffectiveChange,
    KeptOut,
    Plan,
    PlannedChange,
    PlanWarning,
)
from overrides.editing.reach import ReachedAgent, agents_reached
from overrides.resolution.leaves import ABSENT

CHANGE_KINDS = [(kind.value, kind.value) for kind in ChangeKind]
# Further changes are counted, but not listed.
LISTED = 1000
AGENTS_LISTED = 20


class LeafDifference(serializers.Serializer[Any]):
    leaf = serializers.CharField(
        help_text="Location of the value; items of keyed lists appear by name, not by index."
    )
    before = AnyJSONField(required=False, help_text="Absent if there was no value.")
    after = AnyJSONField(required=False, help_text="Absent if there is no value any more.")


class PlannedChangeRead(serializers.Serializer[Any]):
    resource_type = serializers.CharField()
    scope = ScopeRead()
    change = serializers.ChoiceField(choices=CHANGE_KINDS)
    version = serializers.IntegerField(help_text="The version after the change.")
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


class PlanWarningRead(serializers.Serializer[Any]):
    """A value that will refer to nothing in another resource type, such as a tag that no queue has."""

    scope = ScopeRead()
    resource_type = serializers.CharField()
    pointer = serializers.CharField(help_text="JSON Pointer into the effective attributes.")
    code = serializers.CharField()
    message = serializers.CharField()


class PlanFreezeRead(serializers.Serializer[Any]):
    """A freeze that covers a scope of the plan."""

    id = serializers.UUIDField()
    scope = ScopeRead()
    ends_at = serializers.DateTimeField()
    reason = serializers.CharField()
    created_by = serializers.CharField()


class PlanPolicyRead(serializers.Serializer[Any]):
    """An approval policy that covers a scope of the plan."""

    id = serializers.UUIDField()
    scope = ScopeRead()
    approvals = serializers.IntegerField(help_text="How many approvals it needs.")
    created_by = serializers.CharField()
    reason = serializers.CharField()


class ReachedAgentRead(serializers.Serializer[Any]):
    """An agent with work at scopes of the plan."""

    agent_id = serializers.UUIDField()
    name = serializers.CharField()
    resources = serializers.IntegerField(help_text="Its resources at these scopes.")


class ReachedAgentsRead(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="How many agents have work there.")
    items = ReachedAgentRead(many=True, help_text=f"The first {AGENTS_LISTED}, those with most work first.")


class PlanRead(serializers.Serializer[Any]):
    """The effects of a change; with `dry_run=true`, of the change that would be made."""

    revision = serializers.IntegerField(help_text="The new revision; 0 if nothing changes.")
    summary = PlanSummary()
    affected_scopes = serializers.IntegerField(
        help_text="Number of scopes whose effective values change, among scopes where the type is set and "
        "every registered project in every domain."
    )
    affected_agents = ReachedAgentsRead(
        help_text="Agents with resources at these scopes or in workflows below, as far as you may read them."
    )
    digest = serializers.CharField(
        help_text="Identifies exactly this change. Send it as `confirm` to confirm all its effects. "
        "Empty if nothing changes."
    )
    confirm = serializers.CharField(
        allow_null=True, help_text="Value to send as `confirm`; null if no confirmation is needed."
    )
    confirm_reason = serializers.CharField(help_text="Why confirmation is needed; otherwise empty.")
    installation = InstallationChange(
        many=True, help_text="Changed projects, domains, resource types and guard rails of the documents."
    )
    changes = PlannedChangeRead(many=True, help_text=f"Changed overrides; at most {LISTED} are listed.")
    effective = EffectiveChangeRead(many=True, help_text="The first changes of effective values.")
    kept_out = KeptOutValue(
        many=True, help_text="The first stored values that changed guard rails newly keep from applying."
    )
    warnings = PlanWarningRead(
        many=True, help_text="The first values that refer to nothing, at scopes that change."
    )
    frozen_by = PlanFreezeRead(
        many=True, help_text="Freezes of changed scopes: without `override_freeze`, the change is refused."
    )
    protected_by = PlanPolicyRead(
        many=True,
        help_text="Approval policies of changed scopes, the strictest first: without a change request or "
        "`approval_override`, the change is refused.",
    )


def show_plan(plan: Plan, caller: Caller, installation: Sequence[CatalogueChange] = ()) -> dict[str, Any]:
    """Return the API representation of a plan, with the agents that the caller may know of."""
    changes = [change for change in plan.changes if change.kind is not ChangeKind.UNCHANGED]
    return {
        "revision": plan.revision,
        "summary": {kind.value: plan.count(kind) for kind in ChangeKind},
        "affected_scopes": plan.affected,
        "affected_agents": _show_agents(agents_reached(caller, plan.scopes)),
        "digest": plan.digest,
        "confirm": plan.confirmation.confirm if plan.confirmation else None,
        "confirm_reason": plan.confirmation.reason if plan.confirmation else "",
        "installation": [
            {"kind": entry.kind, "name": entry.name, "change": entry.change}
            for entry in installation
            if entry.change != ChangeKind.UNCHANGED
        ],
        "changes": [_show_change(change) for change in changes[:LISTED]],
        "effective": [_show_effective(change) for change in plan.effective],
        "kept_out": [_show_kept_out(value) for value in plan.kept_out[:LISTED]],
        "warnings": [_show_warning(warning) for warning in plan.warnings],
        "frozen_by": [show_frozen(freeze) for freeze in plan.frozen_by],
        "protected_by": [show_policy(policy) for policy in plan.protected_by],
    }


def _show_agents(agents: Sequence[ReachedAgent]) -> dict[str, Any]:
    items = [asdict(agent) for agent in agents[:AGENTS_LISTED]]
    return {"count": len(agents), "items": items}


def show_differences(differences: Sequence[Difference]) -> list[dict[str, Any]]:
    return [
        {"leaf": difference.leaf}
        | ({} if difference.before is ABSENT else {"before": difference.before})
        | ({} if difference.after is ABSENT else {"after": difference.after})
        for difference in differences
    ]


def _show_change(change: PlannedChange) -> dict[str, Any]:
    return {
        "resource_type": change.address.resource_type,
        "scope": show_scope(change.address.scope),
        "change": change.kind.value,
        "version": change.version,
        "differences": show_differences(change.differences),
        "declared_in": change.declared_in,
    }


def _show_effective(change: EffectiveChange) -> dict[str, Any]:
    return {
        "scope": show_scope(change.scope),
        "resource_type": change.resource_type,
        "differences": show_differences(change.differences),
    }


def _show_warning(warning: PlanWarning) -> dict[str, Any]:
    return {
        "scope": show_scope(warning.scope),
        "resource_type": warning.resource_type,
        "pointer": warning.error.pointer,
        "code": warning.error.code,
        "message": warning.error.message,
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
