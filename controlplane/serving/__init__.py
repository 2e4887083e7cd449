"""The web process: granian, with a watch over its workers."""
