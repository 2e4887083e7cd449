"""Tests: the dev settings with a cheap password hash. The test suite sets the URLs of its services."""

from controlplane.settings.dev import *

ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
# Real hashing deliberately takes 0.2 s per login.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Tests look at figures right after a change.
METRICS_CACHE_SECONDS = 0
