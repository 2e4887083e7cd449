from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "controlplane.notifications"

    def ready(self) -> None:
        # They register types and kinds.
        from controlplane.notifications import channels, event_types  # noqa: F401
        from controlplane.notifications.metrics import AlertCollector
        from controlplane.observability.metrics import collect_at_scrape

        collect_at_scrape(AlertCollector())
