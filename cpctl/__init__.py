"""The command line of Controlplane, a client of its HTTP API only."""

VERSION = "0.1.0"
