"""API schemas of explanations of placement."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers

from controlplane.api.fields import Text
from registry.api.dispatch.resource_schemas import ResourceRequestWrite
from registry.dispatch.placement.candidates import AgentVerdict
from registry.dispatch.placement.scores import WEIGHTS
from registry.dispatch.resources.explain import Explanation

_PARTS = " ".join(f"`{name}`: {weight.meaning}" for name, weight in WEIGHTS.items())


class PlacementExplainWrite(ResourceRequestWrite):
    resource_id = Text(
        max_length=63, required=False, help_text="Id of a resource. Leave out all other members with it."
    )
    service_type = Text(max_length=63, required=False, trim_whitespace=True, help_text="Such as vm.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "resource_id" not in attrs and "service_type" not in attrs:
            raise serializers.ValidationError(
                {"service_type": "Send service_type for a new request, or resource_id for a resource."},
                code="required",
            )
        more = sorted(set(self.initial_data) - {"resource_id"})
        if "resource_id" in attrs and more:
            raise serializers.ValidationError(
                {name: "Leave this out: the resource has its own." for name in more}, code="not_allowed"
            )
        return attrs


class AgentVerdictRead(serializers.Serializer[Any]):
    agent = serializers.CharField()
    agent_id = serializers.UUIDField()
    eligible = serializers.BooleanField(help_text="True if the agent can take the request.")
    reasons = serializers.ListField(
        child=serializers.CharField(), help_text="Why the agent cannot take it; empty if it can."
    )
    score = serializers.DictField(
        child=serializers.FloatField(),
        help_text=f"Parts of the score; the agent with the lowest sum is chosen. {_PARTS}",
    )


class ExplanationRead(serializers.Serializer[Any]):
    chosen = serializers.CharField(
        allow_null=True, help_text="Name of the agent; null if none can take it or if you may not read it."
    )
    reason = serializers.CharField()
    verdicts = AgentVerdictRead(
        many=True, help_text="Agents that you may read, the best first. Of a large fleet, a sample."
    )


def show_explanation(explanation: Explanation) -> dict[str, Any]:
    return {
        "chosen": explanation.chosen,
        "reason": explanation.reason,
        "verdicts": [_show_verdict(verdict) for verdict in explanation.verdicts],
    }


def _show_verdict(verdict: AgentVerdict) -> dict[str, Any]:
    return {
        "agent": verdict.agent.name,
        "agent_id": verdict.agent.id,
        "eligible": not verdict.refusals,
        "reasons": [refusal.text for refusal in verdict.refusals],
        "score": dict(verdict.score),
    }


REQUEST = OpenApiExample(
    "A new request",
    value={
        "service_type": "container",
        "project": "flytesnacks",
        "domain": "development",
        "placement": {"selector": "region in (eu,us)"},
    },
    request_only=True,
)
STORED = OpenApiExample("A resource", value={"resource_id": "web"}, request_only=True)
EXPLANATION = OpenApiExample(
    "One of two agents",
    value={
        "chosen": "prod-eu-1",
        "reason": "It is the only agent that can take it.",
        "verdicts": [
            {
                "agent": "prod-eu-1",
                "agent_id": "019a9f5e-7c00-7000-8000-000000000031",
                "eligible": True,
                "reasons": [],
                "score": {**dict.fromkeys(WEIGHTS, 0.0), "queue": 5.825, "cost": 20.0, "capacity": 4.0},
            },
            {
                "agent": "prod-eu-2",
                "agent_id": "019a9f5e-7c00-7000-8000-000000000032",
                "eligible": False,
                "reasons": ["It is draining: it finishes its work and gets no more."],
                "score": {},
            },
        ],
    },
    response_only=True,
)
EXAMPLES = [REQUEST, STORED, EXPLANATION]
