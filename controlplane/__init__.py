"""The Django project: composition root, and the kernel that every app shares."""

# Imported here, or producers silently use Celery's default AMQP broker.
from controlplane.celery import app as celery_app

__all__ = ["__version__", "celery_app"]

# As in pyproject.toml: an image holds the code and no installed distribution that could tell.
__version__ = "0.1.0"
