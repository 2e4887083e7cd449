"""Registered clusters: each has a collector, which reports the cluster's ConfigMaps by our API.

reports     what a report says, and what follows from it (pure)
clusters    register, change and remove clusters, and who may read them
receive     take a report, from one collector of a cluster at a time
silence     clusters whose collector does not report
"""
