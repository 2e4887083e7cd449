"""Scheduled changes: overrides that are set at a time, and restored at another."""
