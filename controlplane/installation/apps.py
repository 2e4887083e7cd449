from django.apps import AppConfig
from django.db.models.signals import post_migrate


class InstallationConfig(AppConfig):
    name = "controlplane.installation"

    def ready(self) -> None:
        from controlplane.installation import event_types  # noqa: F401  (registers types)
        from controlplane.installation.metrics import BackupCollector
        from controlplane.installation.pauses import when_resumed
        from controlplane.installation.refusing_triggers import add_triggers
        from controlplane.observability.metrics import collect_at_scrape
        from controlplane.pools.expiry import restart_grace

        collect_at_scrape(BackupCollector())
        when_resumed(restart_grace)
        post_migrate.connect(add_triggers, sender=self)
