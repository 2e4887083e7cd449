from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "controlplane.access"

    def ready(self) -> None:
        from controlplane.access import event_types  # noqa: F401  (they register themselves)
