"""Upstream's `cloudEvents:` and `externalEvents:` configuration, which becomes sinks."""
