"""The shapes of task types in the API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from controlplane.api.pages import PageQuery
from registry.agents.states import State
from registry.api.agent_configs.document_schemas import ConditionRead
from registry.task_routing import Publication
from registry.task_types.models import ServedTaskType

_STATES = [(one.value, one.value) for one in State]


class TaskTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    versions = serializers.ListField(child=serializers.CharField(allow_blank=True))
    agents = serializers.IntegerField(help_text="Registered ones that serve any version of it.")
    live_agents = serializers.IntegerField(help_text="Among them, those that are ready or congested.")
    teams = serializers.ListField(child=serializers.CharField(), help_text="That publish it, and win.")
    data_planes = serializers.IntegerField(help_text="Whose bundle has it.")


class TaskTypePage(serializers.Serializer[Any]):
    items = TaskTypeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ServingAgentRead(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    agent = serializers.CharField()
    environment = serializers.CharField()
    version = serializers.CharField(allow_blank=True, help_text="Empty if the agent told none.")
    health_status = serializers.ChoiceField(choices=_STATES)
    since = serializers.DateTimeField(help_text="Since when it has said so, without a break.")


class LoserRead(serializers.Serializer[Any]):
    team = serializers.CharField()
    document = serializers.CharField()
    reason = serializers.CharField()
    because = serializers.CharField(help_text="The rule that decided, such as `established`.")
    message = serializers.CharField()

    class Meta:
        ref_name = "TaskTypeLoser"


class PublicationRead(serializers.Serializer[Any]):
    """Who serves it in one data plane, by the bundle that is in force."""

    data_plane = serializers.CharField()
    revision = serializers.IntegerField()
    version = serializers.IntegerField()
    pin = serializers.CharField(help_text="Project and domain of a canary.")
    mapped = serializers.BooleanField(help_text="False where the data plane discovers it.")
    team = serializers.CharField(help_text="Empty if that is another organisation's.")
    document = serializers.CharField(help_text="The winner, as `source/team/name`.")
    generation = serializers.IntegerField(help_text="Its latest.")
    agent = serializers.CharField()
    endpoint = serializers.CharField()
    insecure = serializers.BooleanField()
    since = serializers.DateTimeField(help_text="Since when the team has the name.")
    conditions = ConditionRead(many=True, help_text="Of the winner; `Reachable` is of its agents.")
    losers = LoserRead(many=True)

    class Meta:
        ref_name = "TaskTypePublication"


class TaskTypeDetail(serializers.Serializer[Any]):
    name = serializers.CharField()
    published = PublicationRead(many=True, help_text="By data plane, whatever the page.")
    items = ServingAgentRead(many=True, help_text="Registered agents that serve it.")
    next_cursor = serializers.CharField(allow_null=True)


class TaskTypeQuery(PageQuery):
    version = serializers.CharField(required=False, help_text="Only registered agents with this version.")


def show_agent(one: ServedTaskType) -> dict[str, Any]:
    return {
        "agent_id": str(one.agent_id),
        "agent": one.agent.name,
        "environment": one.agent.environment,
        "version": one.version,
        "health_status": one.agent.state,
        "since": one.since,
    }


def show_publication(one: Publication) -> dict[str, Any]:
    return asdict(one)
