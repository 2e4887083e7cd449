"""Pages about resources: their requests, placement and dead letters."""
