"""Workload identity federation: trusted issuers, their rules, and the exchange of their tokens."""
