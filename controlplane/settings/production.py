"""Production: everything as base says. What must be told is told by the environment, or we do not start."""

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings.base import *
from controlplane.settings.security import SECRET_KEY

if len(SECRET_KEY) < 50:
    raise ImproperlyConfigured(
        "SECRET_KEY is too short. Make one with: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
    )
