"""Bulk changes: one change of many agents, in stages, which can be cancelled and mostly undone."""
