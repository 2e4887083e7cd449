"""The console: templates, static files and the login page."""

from pathlib import Path

from controlplane.settings import environment as env

__all__ = [
    "LOGIN_REDIRECT_URL",
    "LOGIN_URL",
    "STATIC_ROOT",
    "STATIC_URL",
    "STORAGES",
    "TEMPLATES",
    "WHITENOISE_USE_FINDERS",
]

LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
STATIC_URL = "/static/"
STATIC_ROOT = Path(
    env.text(
        "STATIC_ROOT",
        default="/srv/static",
        meaning="Folder that `manage.py collectstatic` fills and from which production serves static files.",
    )
)
WHITENOISE_USE_FINDERS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.context.frame",
            ],
        },
    }
]
