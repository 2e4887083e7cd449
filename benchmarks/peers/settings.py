"""Settings of the plain views: no middleware, so that nothing but the view is measured."""

from controlplane.settings.dev import *  # noqa: F403

ROOT_URLCONF = "benchmarks.peers.views"
MIDDLEWARE = []
