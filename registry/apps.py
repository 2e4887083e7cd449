from django.apps import AppConfig


class RegistryConfig(AppConfig):
    name = "registry"

    def ready(self) -> None:
        from controlplane.access.issuing import on_revocation
        from controlplane.api.metrics import collect_at_scrape
        from controlplane.events.visibility import hide_teams_by
        from registry import checks, event_types  # noqa: F401  (they register themselves)
        from registry.agents.join_tokens import revoke_join_tokens_of
        from registry.agents.metrics import AgentCounts, FleetFigures
        from registry.providers.metrics import ProviderCounts
        from registry.publishing.metrics import AgentConfigFigures
        from registry.publishing.teams import hidden_teams
        from registry.reachability.metrics import EndpointFigures

        on_revocation(revoke_join_tokens_of)
        hide_teams_by(hidden_teams)
        collect_at_scrape(AgentCounts())
        collect_at_scrape(FleetFigures())
        collect_at_scrape(ProviderCounts())
        collect_at_scrape(AgentConfigFigures())
        collect_at_scrape(EndpointFigures())
