"""Approval policies: scopes at which changes of overrides need the approvals of others."""
