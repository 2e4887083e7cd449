"""Password login: hashes, limits and console sessions."""
