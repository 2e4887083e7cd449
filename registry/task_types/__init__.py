"""Task types, and which agents serve them."""
