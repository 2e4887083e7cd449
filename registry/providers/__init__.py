"""Service providers of agents, and their health."""
