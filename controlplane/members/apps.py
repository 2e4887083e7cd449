from django.apps import AppConfig
from django.db.models.signals import post_migrate


class MembersConfig(AppConfig):
    name = "controlplane.members"

    def ready(self) -> None:
        from controlplane.members.metrics import MemberCollector
        from controlplane.members.recording import record_schema
        from controlplane.observability.metrics import collect_at_scrape

        collect_at_scrape(MemberCollector())
        post_migrate.connect(record_schema, sender=self)
