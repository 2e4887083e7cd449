from django.apps import AppConfig


class UpgradesConfig(AppConfig):
    name = "controlplane.upgrades"
