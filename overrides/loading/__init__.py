"""SQL that reads: layers of a scope, current and related rows, revisions, catalogue, platform defaults."""
