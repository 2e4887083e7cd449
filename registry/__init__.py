"""Agents: who can do what, whether they are alive, and what they are configured with."""
