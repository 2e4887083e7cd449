from django.apps import AppConfig


class PoolsConfig(AppConfig):
    name = "controlplane.pools"

    def ready(self) -> None:
        from controlplane.observability.metrics import collect_at_scrape
        from controlplane.pools import event_types  # noqa: F401  (registers types)
        from controlplane.pools.metrics import PoolCollector

        collect_at_scrape(PoolCollector())
