from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "controlplane.api"

    def ready(self) -> None:
        from controlplane.observability.build_info import BuildInfo
        from controlplane.observability.metrics import collect_at_scrape

        collect_at_scrape(BuildInfo())
