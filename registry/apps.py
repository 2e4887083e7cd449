from django.apps import AppConfig


class RegistryConfig(AppConfig):
    name = "registry"

    def ready(self) -> None:
        from controlplane.api.metrics import collect_at_scrape
        from registry import checks, event_types  # noqa: F401  (they register themselves)
        from registry.agents.metrics import AgentCounts, FleetFigures
        from registry.providers.metrics import ProviderCounts
        from registry.publishing.metrics import AgentConfigFigures
        from registry.reachability.metrics import EndpointFigures

        collect_at_scrape(AgentCounts())
        collect_at_scrape(FleetFigures())
        collect_at_scrape(ProviderCounts())
        collect_at_scrape(AgentConfigFigures())
        collect_at_scrape(EndpointFigures())
