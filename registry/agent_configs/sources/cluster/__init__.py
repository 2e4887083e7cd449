"""Agent configurations from a cluster: list and watch ConfigMaps, and send Events about their outcome.

protocol        the interface to a cluster
client          the interface implemented with the official client, which is an extra
objects         read documents from ConfigMaps and changes from a watch (pure)
backoff         timing of requests and retries (pure)
debounce        collect removals until no more arrive (pure)
event_messages  Events for the authors of documents (pure)
cache           the cluster's ConfigMaps, shared between threads
reflector       list and watch one namespace, in a thread
synchronise     publish the cache, by one watcher at a time
event_sender    send Events on the ConfigMaps
outcomes        outcomes of published documents
outcome_reporter  turn them into Events
health          health probes for the kubelet
watcher         all of it, until halted
"""
