"""Production: the base settings. Startup fails if a required environment variable is missing."""

from django.core.exceptions import ImproperlyConfigured

from controlplane.settings.base import *
from controlplane.settings.login import PUBLIC_URL
from controlplane.settings.security import SECRET_KEY

if len(SECRET_KEY) < 50:
    raise ImproperlyConfigured(
        "SECRET_KEY is shorter than 50 characters. Generate one with: python -c 'import secrets;"
        " print(secrets.token_urlsafe(50))'"
    )
if not PUBLIC_URL.startswith("https://"):
    raise ImproperlyConfigured(
        "PUBLIC_URL is missing or does not begin with https://. Set the address at which clients reach the"
        " server, such as https://controlplane.example.com."
    )
