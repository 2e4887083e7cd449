"""Pods of Flyte's tasks: what PodTemplates, the Kubernetes plugin's configuration and a task make together. Pure."""
