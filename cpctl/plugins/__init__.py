"""Plugins: a server's releases, and folders of this machine that have the plugins of a server."""
