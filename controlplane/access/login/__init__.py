"""Logins: passwords, identity providers, and console sessions."""
