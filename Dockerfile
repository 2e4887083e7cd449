# One image for web, Flyte's gRPC port, worker, beat, relay, migrate and the watcher of a cluster. It holds no secret: those are told at start (docs/settings.md).
FROM python:3.11-slim AS builder
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /venv
WORKDIR /app
# runtime has all extras; core has none: no Flyte API, no probes of agents, no watch_agent_configs, no uvloop.
ARG REQUIREMENTS=runtime
COPY requirements/runtime.txt requirements/core.txt requirements/
# To build behind a mirror, mount pip's own settings: docker build --secret id=pip,src=pip.conf
RUN --mount=type=secret,id=pip,target=/etc/pip.conf,required=false \
    /venv/bin/pip install --require-hashes --only-binary :all: -r requirements/${REQUIREMENTS}.txt
COPY manage.py openapi.yaml ./
COPY controlplane/ controlplane/
COPY overrides/ overrides/
COPY registry/ registry/
COPY console/ console/
COPY plugin_store/ plugin_store/
# The key is random, used for this one command and kept nowhere.
RUN SECRET_KEY="$(python -c 'import secrets; print(secrets.token_urlsafe(50))')" \
    ALLOWED_HOSTS=localhost PUBLIC_URL=https://localhost DJANGO_SETTINGS_MODULE=controlplane.settings.production \
    /venv/bin/python manage.py collectstatic --no-input \
 && /venv/bin/python -m controlplane.api.openapi_file \
 && python -m compileall -q .

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=controlplane.settings.production
RUN groupadd --gid 10001 controlplane \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin controlplane
WORKDIR /app
COPY --from=builder /venv /venv
COPY --from=builder /srv/static /srv/static
COPY --from=builder /app /app
# A layer of its own: it shows at a glance whether two images differ in their tables.
COPY migrations/ migrations/
# What init containers of jobs run, in this image or in one of their own.
COPY deploy/boot/ /opt/
# Last, so that no other layer differs for it. GET /api/v1/meta returns it.
ARG BUILD_COMMIT=
ENV BUILD_COMMIT=$BUILD_COMMIT
USER 10001:10001
EXPOSE 8000 8089
# Alive, not ready: without Postgres a restart would help nobody.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://localhost:8000/livez', timeout=4)"]
CMD ["python", "-m", "controlplane.serving", "--host", "0.0.0.0", "--port", "8000", "--workers", "4"]
