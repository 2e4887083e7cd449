"""Which team has which name. Pure."""
