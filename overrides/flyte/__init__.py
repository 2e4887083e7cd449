"""FlyteAdmin's wire formats over our overrides, projects and domains: JSON in two casings, protobuf, gRPC.

A call comes in by `gateway` (HTTP) or `grpc_server`, is a message of the flyteidl package from then on, and
is answered by `calls`. Paths, fields and enums are read from flyteidl's descriptors, so that no list here
can differ from Flyte's. Source: FlyteAdmin v1.16.8; see docs/adr/0017.
"""
