"""Plugin releases: what is installed, which variables it gets, and the pods that run it. Pure.

documents      read and check configurations and plugin specifications
versions.py    versions and ranges of plugins and servers
variables.py   variables of a configuration, substituted into a plugin's image and entrypoint
releases.py    what changes between two configurations: downloads, new revisions, removals
pods           Kubernetes pods and Airflow operators with the boot sequence
"""
