from django.apps import AppConfig


class RegistryConfig(AppConfig):
    name = "registry"

    def ready(self) -> None:
        from controlplane.access.issue_tokens import on_revocation
        from controlplane.access.teams.teams import keep_teams_with
        from controlplane.events.visibility import hide_teams_by
        from controlplane.installation.facts import show_guards, show_sources
        from controlplane.installation.pauses import when_resumed
        from controlplane.messaging.metrics import OutboxCollector
        from controlplane.observability.metrics import collect_at_scrape
        from overrides.editing.reach import show_work
        from registry import checks  # noqa: F401  (checks register themselves)
        from registry.agent_configs import event_types as agent_config_event_types  # noqa: F401
        from registry.agent_configs.metrics import AgentConfigCollector
        from registry.agent_configs.owners import find_owned
        from registry.agent_configs.publishing.hidden_teams import hidden_names
        from registry.agent_configs.reachability.metrics import EndpointCollector
        from registry.agent_configs.sources.followed_sources import followed_sources
        from registry.agents import event_types as agent_event_types  # noqa: F401
        from registry.agents import quotas as agent_quotas  # noqa: F401  (they register themselves)
        from registry.bulk_changes import event_types as bulk_change_event_types  # noqa: F401
        from registry.dispatch import event_types as dispatch_event_types  # noqa: F401  (registers event types)
        from registry.dispatch import quotas as dispatch_quotas  # noqa: F401
        from registry.dispatch.agent_work import resources_of
        from registry.dispatch.metrics import DispatchCollector
        from registry.dispatch.nats_logins import event_types as nats_login_event_types  # noqa: F401  (the same)
        from registry.dispatch.resources.work import work_in
        from registry.environments import event_types as environment_event_types  # noqa: F401
        from registry.environments.engaged_guards import engaged_guards
        from registry.jobs import event_types as job_event_types  # noqa: F401
        from registry.joining import event_types as joining_event_types  # noqa: F401
        from registry.joining import quotas as joining_quotas  # noqa: F401
        from registry.joining.join_tokens import revoke_join_tokens_of
        from registry.metrics import AgentCounts, FleetMetrics
        from registry.plugin_releases import event_types as plugin_release_event_types  # noqa: F401
        from registry.providers import event_types as provider_event_types  # noqa: F401
        from registry.providers.metrics import ProviderCounts
        from registry.sweep.reachable import restart_grace

        on_revocation(revoke_join_tokens_of)
        hide_teams_by(hidden_names)
        keep_teams_with(find_owned)
        keep_teams_with(resources_of)
        show_guards(engaged_guards)
        show_work(work_in)
        show_sources(followed_sources)
        when_resumed(restart_grace)
        collect_at_scrape(AgentCounts())
        collect_at_scrape(FleetMetrics())
        collect_at_scrape(ProviderCounts())
        collect_at_scrape(AgentConfigCollector())
        collect_at_scrape(EndpointCollector())
        collect_at_scrape(DispatchCollector())
        collect_at_scrape(OutboxCollector())
