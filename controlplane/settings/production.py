"""Production: the base settings. Startup fails if a required environment variable is missing."""

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings.base import *
from controlplane.settings.security import SECRET_KEY

if len(SECRET_KEY) < 50:
    raise ImproperlyConfigured(
        "SECRET_KEY is shorter than 50 characters. Generate one with: python -c 'import secrets;"
        " print(secrets.token_urlsafe(50))'"
    )
