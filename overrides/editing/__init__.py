"""Changes: writes, apply, plans, impact, validation, guard rails and resource types."""
