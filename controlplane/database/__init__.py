"""Postgres: bulk writes, scoped querysets, the database's clock, numbered locks, roles, the prepared connection."""
