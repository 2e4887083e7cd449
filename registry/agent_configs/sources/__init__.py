"""Documents that are followed: a folder, or ConfigMaps of a cluster."""
