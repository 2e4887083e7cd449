"""Teams, their members, and the roles that claims of an identity provider give."""
