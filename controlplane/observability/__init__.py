"""Request ids and the registry of metrics."""
