from django.apps import AppConfig


class ReplicasConfig(AppConfig):
    name = "controlplane.replicas"
