"""Whether the endpoints of published agents answer, as seen from here. By itself it gates nothing.

judging    three states, with patience; when to ask again (pure)
probing    ask one endpoint: TCP, TLS, gRPC health; never an address of our own networks
policies   what the settings say
rows       what was found of each endpoint
outcomes   and what that means for a document
checking   which are due, and what their answers change
telling    the condition `Reachable` of documents
"""
