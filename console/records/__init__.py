"""Pages for events and the audit log."""
