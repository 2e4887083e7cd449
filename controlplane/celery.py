"""The Celery application. Tasks in `<app>/tasks.py` take ids and call one function."""

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, worker_ready
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.production")

app = Celery("controlplane")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(DjangoStructLogInitStep)


@celeryd_init.connect
def _measure_tasks(**_: Any) -> None:
    from controlplane.observability.task_metrics import measure_tasks

    measure_tasks()


@beat_init.connect
def _note_ticks(**_: Any) -> None:
    from controlplane.observability.queue_metrics import note_ticks

    note_ticks()


@beat_init.connect
def _serve_metrics_of_beat(**_: Any) -> None:
    _serve_metrics("beat")


@worker_ready.connect
def _serve_metrics_of_worker(**_: Any) -> None:
    _serve_metrics("worker")


def _serve_metrics(process: str) -> None:
    from controlplane.observability.process_pages import serve_metrics

    serve_metrics(process)
