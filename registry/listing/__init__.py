"""Lists of agents: search, selectors, counts."""
