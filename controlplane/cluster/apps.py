from django.apps import AppConfig


class ClusterConfig(AppConfig):
    name = "controlplane.cluster"

    def ready(self) -> None:
        from controlplane.cluster import checks  # noqa: F401  (checks register themselves)
