"""Fetching of archives: one module per type of provider, and the check of what arrived."""
