"""Postgres: bulk writes, scoped querysets, the clock, numbered locks, roles, prepared connections."""
