"""Agent configurations from a cluster: ConfigMaps that are listed and watched, and Events that answer them.

objects     what a ConfigMap says of a document; what a stream of changes says (pure)
pace        how long to wait before the next try (pure)
settling    removals that come one by one are judged together (pure)
notices     what a document's authors are told (pure)
clusters    what the control plane asks of a cluster
client      the same with the official client, which is an extra
view        what is known of the cluster, shared between threads
reflecting  list, watch and list again: one thread for each namespace
storing     what is known is published, by one watcher at a time
telling     Events on the ConfigMaps
probes      whether the watcher is alive, for the kubelet
sources     how the followed sources stand, the folder and the cluster
watching    all of it, until told to stop
"""
