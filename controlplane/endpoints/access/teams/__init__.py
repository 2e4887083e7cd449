"""HTTP endpoints for teams, their members, and organisations."""
