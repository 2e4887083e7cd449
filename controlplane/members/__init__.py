"""Members: the running processes of an installation, and whether their versions go together."""
