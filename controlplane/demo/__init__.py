"""The demo's data: overrides, and a fleet that sends heartbeats."""
