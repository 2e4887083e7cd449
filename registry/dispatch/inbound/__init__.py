"""Messages that arrive from agents and providers, and those that nobody could handle."""
