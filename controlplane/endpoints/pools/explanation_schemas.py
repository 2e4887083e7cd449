"""API schemas of explanations: which limits of a pool apply at a scope."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.fields import StrictSerializer, Whole
from controlplane.api.scopes import ScopeRead, ScopeWrite, show_scope
from controlplane.endpoints.pools.schemas import MOST_UNITS, ObstacleRead, UsageRead, show_obstacle
from controlplane.pools.leases import PoolExplanation, Rung


class ExplainWrite(StrictSerializer):
    scope = ScopeWrite(required=False)
    units = Whole(required=False, default=1, min_value=1, max_value=MOST_UNITS)


class RungRead(serializers.Serializer[Any]):
    scope = ScopeRead()
    cap = serializers.IntegerField(allow_null=True)
    guaranteed = serializers.IntegerField()
    weight = serializers.IntegerField(help_text="Inherited if the scope has none of its own.")
    used = serializers.IntegerField()
    waiting = serializers.IntegerField()
    leaves_room = serializers.BooleanField()


class NamespaceQuotaRead(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The placeholder of the namespace's templates.")
    value = serializers.CharField()
    scope = ScopeRead(allow_null=True, help_text="Where it is set. Null: a default of the platform.")


class PoolExplanationRead(serializers.Serializer[Any]):
    would_be_granted = serializers.BooleanField(help_text="If nobody waits.")
    obstacles = ObstacleRead(many=True, help_text="What leaves no room; empty if there is room.")
    ladder = RungRead(many=True, help_text="The scopes that cover the request, the widest first.")
    holders = UsageRead(many=True, help_text="Scopes that you may read and that use units, at most 100.")
    namespace_quotas = NamespaceQuotaRead(
        many=True,
        help_text="Values of `cluster_resource` overrides in effect, such as `projectQuotaCpu`, if the scope "
        "has a project and a domain: Kubernetes enforces these, not the pool.",
    )


def show_explanation(explanation: PoolExplanation) -> dict[str, Any]:
    caps = [rung.obstacle for rung in explanation.ladder if rung.obstacle]
    return {
        "would_be_granted": explanation.is_free,
        "obstacles": [show_obstacle(obstacle) for obstacle in (*explanation.general, *caps)],
        "ladder": [_show_rung(rung) for rung in explanation.ladder],
        "holders": [
            {"scope": show_scope(scope), "used": counts.used, "waiting": counts.waiting}
            for scope, counts in explanation.holders
        ],
        "namespace_quotas": [
            {
                "name": quota.name,
                "value": quota.value,
                "scope": show_scope(quota.scope) if quota.scope else None,
            }
            for quota in explanation.namespace
        ],
    }


def _show_rung(rung: Rung) -> dict[str, Any]:
    return {
        "scope": show_scope(rung.scope),
        "cap": rung.cap,
        "guaranteed": rung.guaranteed,
        "weight": rung.weight,
        "used": rung.counts.used,
        "waiting": rung.counts.waiting,
        "leaves_room": rung.obstacle is None,
    }
