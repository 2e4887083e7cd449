"""Reachability of published agents, as seen from the control plane. By default it gates nothing.

judge      evaluate outcomes: three states, and when to probe again (pure)
probe      probe one endpoint: TCP, TLS and gRPC health, never in internal networks
policies   policies from the settings
models     the table of endpoints
outcomes   outcomes combined per document
check      probe due endpoints and store the outcomes
condition  the condition `Reachable` of documents
"""
