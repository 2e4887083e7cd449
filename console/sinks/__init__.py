"""Pages for sinks and the deliveries of events to them."""
