from django.apps import AppConfig


class OverridesConfig(AppConfig):
    name = "overrides"

    def ready(self) -> None:
        from overrides import checks, event_types  # noqa: F401  (they register themselves)
