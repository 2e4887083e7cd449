"""The command line of Controlplane: a client of its HTTP API, and of nothing else."""

VERSION = "0.1.0"
