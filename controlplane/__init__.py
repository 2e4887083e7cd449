"""The Django project: composition root, and the kernel that every app shares."""

import gc

# A program makes a million objects that stay while it loads its modules. By default (700), collections look
# through them again and again, for a sixth of the time of every start.
gc.set_threshold(20_000, 20, 50)

# Imported here, or producers silently use Celery's default AMQP broker.
from controlplane.celery import app as celery_app  # noqa: E402

__all__ = ["__version__", "celery_app"]

# The same as in pyproject.toml: an image contains the code, but no installed distribution with a version.
__version__ = "0.1.0"
