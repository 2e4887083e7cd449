"""Events out: sinks, the deliveries of events to them, and the relays that send these deliveries."""
