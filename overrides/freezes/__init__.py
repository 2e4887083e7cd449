"""Freezes: times in which overrides at and below a scope may not change."""
