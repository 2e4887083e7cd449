"""HTTP endpoints for versions, revisions, diffs and rollback."""
