"""Flows that make or take secrets, each over HTTP against real processes: `run(story)`."""
