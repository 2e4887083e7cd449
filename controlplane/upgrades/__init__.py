"""Upgrades without an interruption: rules of migrations, their phases, and backfills."""
