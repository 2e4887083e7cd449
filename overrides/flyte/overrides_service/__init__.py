"""OverridesService of Flyte's RFC 3749 over gRPC: GetOverrides and GetAllOverrides.

`overrides.proto` is the contract for clients; `wire` makes the same messages from it, without a compiler.
"""
