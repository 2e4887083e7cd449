"""Watches of effective values: what may have changed is computed again once, for all who wait for it."""
