"""The hash chain over the audit log: daily seals, and their verification."""
