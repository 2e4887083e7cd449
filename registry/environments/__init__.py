"""Environments: fleet guard, lease, evidence of hearing, configuration."""
