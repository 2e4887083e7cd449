"""The installation as a whole: its processes, checks, backlog, sources and backups."""
