"""Overrides: values at a scope, inherited down the ladder and resolved on read."""
