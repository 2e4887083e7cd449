"""Logins of agents at NATS: issued once, verified at each login, ended when they are revoked."""
