from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "controlplane.retention"

    def ready(self) -> None:
        from controlplane.observability.metrics import collect_at_scrape
        from controlplane.retention import event_types  # noqa: F401  (registers event types)
        from controlplane.retention.metrics import RetentionCollector

        collect_at_scrape(RetentionCollector())
