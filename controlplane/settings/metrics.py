"""Metrics for Prometheus."""

from controlplane.settings import environment as env

__all__ = ["METRICS_ADDRESS", "METRICS_CACHE_SECONDS", "METRICS_PORT"]

METRICS_PORT = env.integer(
    "METRICS_PORT",
    default=0,
    meaning="Port on which each of worker, beat, relay, flyte-grpc, pools_redis and plugin_installer serves"
    " /metrics and /livez. The web server serves /metrics itself. 0: none.",
)
METRICS_ADDRESS = env.text(
    "METRICS_ADDRESS",
    default="127.0.0.1",
    meaning="Address on which METRICS_PORT is open, to everybody who reaches it.",
)
METRICS_CACHE_SECONDS = env.integer(
    "METRICS_CACHE_SECONDS",
    default=5,
    meaning="Seconds for which /metrics and the checks of /status repeat the figures that were read from"
    " the database. 0: each request reads them.",
)
