"""Text formats, read strictly: JSON, YAML, JSON Schema, JSON Patch, quantities, durations. Pure."""
