"""Development: one machine, plain HTTP on loopback. `make up` and manage.py use these settings.

While `make up` runs, the file DATA_DIR/run/environment holds the URLs of its services, so that
`manage.py shell` in another terminal uses the same database.
"""

import os
from pathlib import Path

from controlplane.local.data_folder import environment_file, read_environment

DATA_DIR = Path(os.environ.get("DATA_DIR", ".data"))


for _name, _value in read_environment(environment_file(DATA_DIR)).items():
    os.environ.setdefault(_name, _value)
# Enough for --help; `make up` creates a real key for this machine.
os.environ.setdefault("SECRET_KEY", "not-a-secret-and-not-for-use-outside-this-machine-1234567890")
os.environ.setdefault("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
os.environ.setdefault("PUBLIC_URL", f"http://localhost:{os.environ.get('PORT') or 8000}")
# For a trial, anybody can publish immediately; in production a team serves only what it was granted.
os.environ.setdefault("AGENT_CONFIGS_MODE", "open")

from controlplane.settings.base import *

# 127.0.0.1 and a port, which `make up` gives to the demo's own receiver of webhooks.
DEMO_RECEIVER = os.environ.get("DEMO_RECEIVER", "")
SECURE_SSL_REDIRECT = False
SECURE_HSTS_SECONDS = 0
SESSION_COOKIE_SECURE = False
SESSION_COOKIE_NAME = "cp-session"
LOGIN_COOKIE_NAME = "cp-login"
CSRF_COOKIE_SECURE = False
CSRF_COOKIE_NAME = "cp-csrf"
# No collectstatic after an edit.
WHITENOISE_USE_FINDERS = True
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
# An existing folder: WhiteNoise warns about a missing one.
STATIC_ROOT = BASE_DIR / "console" / "static"
