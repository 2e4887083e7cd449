"""Recording and alert rules for Prometheus."""
