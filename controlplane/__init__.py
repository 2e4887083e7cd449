"""The Django project: composition root, and the kernel that every app shares."""

# Imported here, or producers silently use Celery's default AMQP broker.
from controlplane.celery import app as celery_app

__all__ = ["__version__", "celery_app"]

# The same as in pyproject.toml: an image contains the code, but no installed distribution with a version.
__version__ = "0.1.0"
