from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    name = "controlplane.delivery"

    def ready(self) -> None:
        from controlplane.delivery import (  # noqa: F401  (registers types, kinds and quotas)
            event_types,
            kafka_sinks,
            nats_sinks,
            pubsub_sinks,
            quotas,
            sns_sinks,
            webhooks,
        )
        from controlplane.delivery.metrics import DeliveryCollector
        from controlplane.observability.metrics import collect_at_scrape

        collect_at_scrape(DeliveryCollector())
