"""Query parameters of the list of agents."""

from __future__ import annotations

from rest_framework import serializers

from controlplane.api.fields import WordsField
from controlplane.api.pages import PageQuery
from controlplane.api.sorting import SortField
from controlplane.api.time_range import SinceField, UntilField
from registry.agents.states import State
from registry.listing.search import SORT_KEYS


class AgentListQuery(PageQuery):
    health_status = WordsField(
        State,
        kind="a state",
        required=False,
        help_text="Filter by states, separated by commas: " + ", ".join(State) + ".",
    )
    late = serializers.BooleanField(required=False, default=False, help_text="Only late agents.")
    selector = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        help_text="Label selector as in Kubernetes: team=ml,tier!=dev,region in (eu,us),!old.",
    )
    since = SinceField(
        help_text="Only agents whose state has changed since then: a duration such as `1h`, or an"
        " RFC 3339 time."
    )
    until = UntilField(help_text="Only agents whose state has not changed since then, written as `since`.")
    q = serializers.CharField(required=False, max_length=255, help_text="Filter by a part of the name.")
    sort = SortField(SORT_KEYS, default="name")

    environment = serializers.CharField(required=False, help_text="Filter by environment.")
    team = serializers.CharField(required=False, help_text="Filter by the team that owns the agents.")
    service_type = serializers.CharField(required=False, help_text="Filter by advertised service type.")
    task_type = serializers.CharField(
        required=False, max_length=128, help_text="Filter by task type, in any version."
    )
