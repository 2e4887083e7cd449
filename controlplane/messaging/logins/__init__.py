"""Logins at NATS by auth callout: keys, requests and answers, and the server's configuration."""
