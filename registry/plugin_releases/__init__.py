"""Releases of plugins: the configuration in force, what was fetched for it, and which nodes have it."""
