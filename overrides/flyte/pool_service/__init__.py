"""PoolService over gRPC: leases of pools, with the status numbers of Flyte's resource manager.

`pools.proto` is the contract for clients; `wire` makes the same messages from it, without a compiler.
"""
