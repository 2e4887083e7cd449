from django.apps import AppConfig


class InstallationConfig(AppConfig):
    name = "controlplane.installation"

    def ready(self) -> None:
        from controlplane.installation import event_types  # noqa: F401  (registers types)
        from controlplane.installation.metrics import BackupCollector
        from controlplane.observability.metrics import collect_at_scrape

        collect_at_scrape(BackupCollector())
