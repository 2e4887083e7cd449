from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "controlplane.api"

    def ready(self) -> None:
        from controlplane.observability.build_info import BuildInfo
        from controlplane.observability.database_metrics import DatabaseCollector
        from controlplane.observability.metrics import collect_at_scrape
        from controlplane.observability.queue_metrics import QueueCollector
        from controlplane.observability.stack_dumps import dump_stacks_on_signal

        # Every process sets Django up.
        dump_stacks_on_signal()
        collect_at_scrape(BuildInfo())
        collect_at_scrape(DatabaseCollector())
        collect_at_scrape(QueueCollector())
