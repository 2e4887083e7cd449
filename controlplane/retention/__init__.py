"""Retention of the event log and the audit log: monthly partitions, archives and legal holds."""
