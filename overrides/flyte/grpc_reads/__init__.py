"""Flyte's reads over gRPC from ready answers, checked against the database before each response.

They use the revision check, the snapshot and the tokens of the fast path of effective reads, so that no
answer is older than a write, or a revocation, that was acknowledged before the call. Every call that is
unusual in any way, and every error but a missing row, is left to `overrides.flyte.calls`.
"""
