"""Imports from FlyteAdmin and from flytectl's files."""
