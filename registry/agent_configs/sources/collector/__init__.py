"""The collector: it runs in a registered cluster, and reports the cluster's ConfigMaps by our API.

`python -m registry.agent_configs.sources.collector` needs a token, and neither a database nor settings.

pictures   what a report says, and which texts go along (pure)
client     send reports by HTTPS
collector  reflect the cluster and report it, until halted
"""
