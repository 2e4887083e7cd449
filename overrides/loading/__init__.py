"""SQL that reads: layers of a scope, current and related rows, revisions, the cached catalogue, platform defaults."""
