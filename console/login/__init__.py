"""Pages of login and logout."""
