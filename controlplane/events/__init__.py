"""The event log: types, append, follow, and which events a caller may read."""
