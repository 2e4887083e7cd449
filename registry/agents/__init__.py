"""What an agent is: tables, states, transitions, liveness, policies."""
