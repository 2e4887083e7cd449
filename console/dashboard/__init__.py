"""The dashboard: what is wrong and since when, what happened before, and who changed what."""
