"""Settings shared by dev, test and production: they combine the other modules of this package."""

from pathlib import Path

# First: its values are the defaults of other settings.
import controlplane.settings.flyte_auth_file  # noqa: F401  (sets defaults in the environment)
from controlplane.settings.access import *
from controlplane.settings.agent_config_sources import *
from controlplane.settings.agent_configs import *
from controlplane.settings.api import *
from controlplane.settings.console import *
from controlplane.settings.cors import *
from controlplane.settings.database import *
from controlplane.settings.delivery import *
from controlplane.settings.dispatch import *
from controlplane.settings.environment import DECLARED
from controlplane.settings.flyte import *
from controlplane.settings.flyte_auth import *
from controlplane.settings.issuers import *
from controlplane.settings.liveness import *
from controlplane.settings.login import *
from controlplane.settings.logs import *
from controlplane.settings.metrics import *
from controlplane.settings.nats_logins import *
from controlplane.settings.notifications import *
from controlplane.settings.oauth import *
from controlplane.settings.outgoing import *
from controlplane.settings.overrides import *
from controlplane.settings.plugins import *
from controlplane.settings.pools import *
from controlplane.settings.probes import *
from controlplane.settings.queue import *
from controlplane.settings.retention import *
from controlplane.settings.scim import *
from controlplane.settings.secrets import *
from controlplane.settings.security import *
from controlplane.settings.step_up import *
from controlplane.settings.traces import *
from controlplane.settings.web import *

# All settings of this package, with what may be shown of them.
DECLARED_SETTINGS = DECLARED
BASE_DIR = Path(__file__).resolve().parents[2]

# One list drives INSTALLED_APPS and MIGRATION_MODULES: for an app that is only in the first, Django would
# silently create no tables. See docs/adr/0005.
APPS_WITH_TABLES = [
    "controlplane.access",
    "controlplane.api",
    "controlplane.cluster",
    "controlplane.delivery",
    "controlplane.events",
    "controlplane.messaging",
    "controlplane.pools",
    "controlplane.retention",
    "controlplane.notifications",
    "controlplane.members",
    "controlplane.replicas",
    "controlplane.installation",
    "controlplane.upgrades",
    "overrides",
    "registry",
]
APPS_WITHOUT_TABLES = ["controlplane", "console"]
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_structlog",
    # All its tables are replaced by those of controlplane.access.oauth.
    "oauth2_provider",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    # Only for its static files: htmx.
    "django_htmx",
    *APPS_WITH_TABLES,
    *APPS_WITHOUT_TABLES,
]
MIGRATION_MODULES = {
    label: f"migrations.{label}" for label in (app.rpartition(".")[2] for app in APPS_WITH_TABLES)
} | {"oauth2_provider": None}

MIDDLEWARE = [
    "controlplane.observability.request_ids.RequestIdMiddleware",
    *(["controlplane.observability.traces.middleware.TracesMiddleware"] if TRACES_ON else []),
    "controlplane.api.request_log.RequestLogMiddleware",
    "controlplane.observability.metrics.MetricsMiddleware",
    *(["controlplane.api.position_header.PositionMiddleware"] if DATABASE_ROUTERS else []),
    "controlplane.web.health.HealthMiddleware",
    "controlplane.api.transport.TransportMiddleware",
    "controlplane.api.delivery_loops.DeliveryLoopMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "controlplane.web.content_policy.ContentPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "controlplane.access.denials.DenialMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "controlplane.web.browser_middlewares.BrowserMiddlewares",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
# Not for reads with a token.
BROWSER_MIDDLEWARES = [
    "controlplane.access.login.session_store.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

ROOT_URLCONF = "controlplane.urls"
WSGI_APPLICATION = "controlplane.wsgi.application"
APPEND_SLASH = False
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
