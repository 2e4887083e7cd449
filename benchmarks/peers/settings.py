"""Settings of the plain views: no middleware but the one that says how long an answer is."""

from controlplane.settings.dev import *  # noqa: F403

ROOT_URLCONF = "benchmarks.peers.views"
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
