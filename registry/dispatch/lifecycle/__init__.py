"""What answers, timers and people change of a resource and its assignments. Pure."""
