"""Who acts: actors, callers, and the roles that say what each may do. Pure."""
