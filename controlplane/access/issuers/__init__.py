"""Tokens of other issuers: verification, signing keys, and the rules that map them to principals."""
