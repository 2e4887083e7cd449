"""Overrides from a folder (OVERRIDES_SOURCE=file)."""
