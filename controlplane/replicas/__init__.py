"""Read replicas: which request may read from one, by its position and the staleness that it accepts."""
