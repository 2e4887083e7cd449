"""The commands: thin, one module for each group."""
