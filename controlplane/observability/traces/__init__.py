"""Traces: spans of requests, statements, messages and tasks, exported by OpenTelemetry if it is configured.

`spans` is what everybody calls. Until `exporting.start`, it does nothing, and OpenTelemetry is not imported.
"""
