"""One machine, plain HTTP on loopback: what `make up` and manage.py use.

While `make up` runs, the file DATA_DIR/run/environment says where its services are, so that
`manage.py shell` in another window meets the same database.
"""

import os
from pathlib import Path

from controlplane.local.saved_environment import environment_file, read_environment

DATA_DIR = Path(os.environ.get("DATA_DIR", ".data"))


for _name, _value in read_environment(environment_file(DATA_DIR)).items():
    os.environ.setdefault(_name, _value)
# Good enough to look at --help; `make up` makes a real one for this machine.
os.environ.setdefault("SECRET_KEY", "not-a-secret-and-not-for-use-outside-this-machine-1234567890")
os.environ.setdefault("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
# Whoever tries it out publishes at once; in production a team serves what it was granted.
os.environ.setdefault("AGENT_CONFIGS_MODE", "open")

from controlplane.settings.base import *

SECURE_SSL_REDIRECT = False
SECURE_HSTS_SECONDS = 0
SESSION_COOKIE_SECURE = False
SESSION_COOKIE_NAME = "cp-session"
CSRF_COOKIE_SECURE = False
CSRF_COOKIE_NAME = "cp-csrf"
# No collectstatic step between an edit and the page.
WHITENOISE_USE_FINDERS = True
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
# A folder that exists: WhiteNoise warns of any other.
STATIC_ROOT = BASE_DIR / "console" / "static"
