"""HTTP endpoints of dispatch: resources, placement, requests of agents, dead letters."""
