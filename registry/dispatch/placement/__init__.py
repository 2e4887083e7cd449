"""Which agent gets a resource: requirements, candidates, filters and scores."""
