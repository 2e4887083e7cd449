"""The Django project: composition root, and the kernel that every app shares."""

# Imported here, or producers silently use Celery's default AMQP broker.
from controlplane.celery import app as celery_app

__all__ = ["celery_app"]
