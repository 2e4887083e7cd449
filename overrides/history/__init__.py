"""Versions, the state as of a revision, and rollback."""
