"""Tokens of other issuers: verification, signing keys, and access tokens that authenticate requests."""
