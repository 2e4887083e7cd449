"""How agents join: join tokens, registration, credentials."""
