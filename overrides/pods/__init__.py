"""Pods of Flyte's tasks: what PodTemplates, configuration and a task make together. Pure."""
