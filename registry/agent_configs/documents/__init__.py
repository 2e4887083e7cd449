"""Published documents: reading, checking, and what they may hold. Pure."""
