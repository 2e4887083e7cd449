from django.apps import AppConfig


class EventsConfig(AppConfig):
    name = "controlplane.events"

    def ready(self) -> None:
        from controlplane.events.metrics import EventCollector
        from controlplane.observability.metrics import collect_at_scrape

        collect_at_scrape(EventCollector())
