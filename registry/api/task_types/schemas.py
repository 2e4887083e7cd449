"""API schemas of task types."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from controlplane.api.pages import PageQuery
from controlplane.api.sort_keys import SortKeys
from controlplane.api.sorting import SortField
from controlplane.api.text_search import SearchField
from registry.agents.states import State
from registry.api.agent_configs.document_schemas import ConditionRead
from registry.task_routing import Publication
from registry.task_types.models import ServedTaskType

_STATES = [(state.value, state.value) for state in State]


class TaskTypeRead(serializers.Serializer[Any]):
    name = serializers.CharField()
    versions = serializers.ListField(child=serializers.CharField(allow_blank=True))
    agents = serializers.IntegerField(help_text="Registered agents that serve any version.")
    live_agents = serializers.IntegerField(help_text="Those of them that are ready or congested.")
    teams = serializers.ListField(
        child=serializers.CharField(), help_text="Teams whose claim to the task type is accepted."
    )
    data_planes = serializers.IntegerField(help_text="Number of data planes whose bundle has the task type.")


class TaskTypeListQuery(PageQuery):
    q = SearchField("name")
    sort = SortField(SortKeys.of("name", tie_break="name"), default="name")


class TaskTypePage(serializers.Serializer[Any]):
    items = TaskTypeRead(many=True)
    next_cursor = serializers.CharField(allow_null=True)


class ServingAgentRead(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    agent = serializers.CharField()
    environment = serializers.CharField()
    version = serializers.CharField(allow_blank=True, help_text="Empty if the agent registered no version.")
    health_status = serializers.ChoiceField(choices=_STATES)
    since = serializers.DateTimeField(help_text="Since when the agent has served it without interruption.")


class LoserRead(serializers.Serializer[Any]):
    team = serializers.CharField()
    document = serializers.CharField()
    reason = serializers.CharField()
    because = serializers.CharField(help_text="The rule that decided, such as `established`.")
    message = serializers.CharField()

    class Meta:
        ref_name = "TaskTypeLoser"


class PublicationRead(serializers.Serializer[Any]):
    """Route of the task type in one data plane, from its active bundle."""

    data_plane = serializers.CharField()
    revision = serializers.IntegerField()
    version = serializers.IntegerField()
    pin = serializers.CharField(help_text="Project and domain, for a canary.")
    mapped = serializers.BooleanField(help_text="False if the data plane discovers the task type itself.")
    team = serializers.CharField(help_text="Empty if it belongs to another organisation.")
    document = serializers.CharField(help_text="Document that serves it, as `source/team/name`.")
    generation = serializers.IntegerField(help_text="Latest generation of the document.")
    agent = serializers.CharField()
    endpoint = serializers.CharField()
    insecure = serializers.BooleanField()
    since = serializers.DateTimeField(help_text="Since when the team has owned the name.")
    conditions = ConditionRead(
        many=True, help_text="Conditions of the document; `Reachable` refers to its agents."
    )
    losers = LoserRead(many=True)

    class Meta:
        ref_name = "TaskTypePublication"


class TaskTypeDetail(serializers.Serializer[Any]):
    name = serializers.CharField()
    published = PublicationRead(many=True, help_text="Routes by data plane, the same on every page.")
    items = ServingAgentRead(many=True, help_text="Registered agents that serve it.")
    next_cursor = serializers.CharField(allow_null=True)


class TaskTypeQuery(PageQuery):
    version = serializers.CharField(required=False, help_text="Filter the registered agents by version.")


def show_agent(served: ServedTaskType) -> dict[str, Any]:
    return {
        "agent_id": str(served.agent_id),
        "agent": served.agent.name,
        "environment": served.agent.environment,
        "version": served.version,
        "health_status": served.agent.state,
        "since": served.since,
    }


def show_publication(publication: Publication) -> dict[str, Any]:
    return asdict(publication)
