"""The settings of `make up` without the middleware that counts requests."""

from controlplane.settings import dev
from controlplane.settings.dev import *  # noqa: F403

MIDDLEWARE = [name for name in dev.MIDDLEWARE if not name.endswith(".MetricsMiddleware")]
