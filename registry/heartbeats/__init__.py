"""Heartbeats: renewal of leases, reports, agents that return."""
