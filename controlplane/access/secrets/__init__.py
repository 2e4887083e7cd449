"""Encryption of secrets that must be recoverable, such as client secrets and private keys."""
