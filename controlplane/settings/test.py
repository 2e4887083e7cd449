"""Tests: as dev, with a cheap password hash. The suite itself says where its services are."""

from controlplane.settings.dev import *

ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
# Real hashing costs 0.2 s a log-in on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
