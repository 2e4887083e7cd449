"""How messages reach agents: by HTTPS, by consumers of NATS, and what is purged behind agents that left."""
