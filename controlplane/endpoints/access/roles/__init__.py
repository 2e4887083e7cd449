"""HTTP endpoints for roles, role bindings, and who may do what."""
