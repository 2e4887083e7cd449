"""Flyte's own configuration of authentication, and what its clients need to log in."""
