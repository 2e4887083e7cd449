"""HTTP endpoints for team parts and their held changes."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.api.endpoints import OF_LISTS, Endpoint, caller_of
from controlplane.api.pages import page_response, paginate
from controlplane.identity.roles import Action
from registry.agent_configs.part_models import AgentConfigPart
from registry.agent_configs.publishing.hidden_teams import hidden_teams, planes_with_visible_names
from registry.api.agent_configs import examples
from registry.api.agent_configs.part_schemas import PartListQuery, PartPage, show_part


class PartCollection(Endpoint):
    actions = {"GET": Action.AGENT_CONFIG_READ}
    staleness = OF_LISTS

    @extend_schema(
        operation_id="agent_config_parts_list",
        summary="List team parts",
        description=(
            "A part is what one team has active in one data plane. A gate can hold a team's change without "
            "holding others; `held` has the reasons, and an administrator can approve `held_digest` at the "
            "data plane. Lists only teams that the caller may see."
        ),
        tags=["agent configurations"],
        parameters=[PartListQuery],
        responses=PartPage,
        examples=examples.PARTS,
    )
    def get(self, request: Request) -> Response:
        query = PartListQuery.parse(request)
        caller = caller_of(request)
        rows = AgentConfigPart.objects.filter(
            hidden_teams(caller).visible("team"), planes_with_visible_names(caller)
        )
        rows = rows.filter(**{name: query[name] for name in ("data_plane", "team") if name in query})
        if "held" in query:
            rows = rows.filter(held__isnull=not query["held"])
        return page_response(request, paginate(request, rows, order=("id",), query=query), show_part)
