"""Installed plugins on one machine: verified archives, unpacked into generations that are switched at once.

Stands alone: servers that install releases and the command line in client mode both use it.
"""
