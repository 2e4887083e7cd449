"""Django's engine for Postgres, with a health check that rarely needs a round trip."""
