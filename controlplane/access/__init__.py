"""Principals, tokens, roles and sessions, and the audit log of what they changed."""
