"""Documents that are followed: a folder, or ConfigMaps of clusters.

folder      files of a mounted folder
cluster     ConfigMaps of one cluster, by a watcher beside the database
registered  ConfigMaps of registered clusters, by what their collectors report
collector   the process in such a cluster, which knows only our API
follow      publish and remove what a source has, alike for all of them
"""
