"""HTTP endpoints for the state of the whole installation, and for reports of backups."""
