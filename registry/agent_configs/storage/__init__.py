"""Documents, parts and inputs of a recompute, loaded from the database."""
