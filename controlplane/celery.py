"""The Celery application. Tasks in `<app>/tasks.py` take ids and call one function."""

import atexit
import os
from typing import Any

from celery import Celery, signals
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings.production")

app = Celery("controlplane")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(DjangoStructLogInitStep)
app.steps["worker"].add("controlplane.members.alive_file:AliveFile")
_PRESENCES: list[Any] = []


@signals.celeryd_init.connect(weak=False)
def _measure_tasks(**_: Any) -> None:
    from controlplane.observability.task_metrics import measure_tasks

    measure_tasks()


@signals.celeryd_init.connect(weak=False)
def _watch_for_silence(**_: Any) -> None:
    from controlplane.database import silence

    silence.watch.enable()


@signals.beat_init.connect(weak=False)
def _note_ticks(**_: Any) -> None:
    from controlplane.observability.queue_metrics import note_ticks

    note_ticks()


@signals.beat_init.connect(weak=False)
def _serve_metrics_of_beat(**_: Any) -> None:
    _serve_metrics("beat")


@signals.worker_ready.connect(weak=False)
def _serve_metrics_of_worker(**_: Any) -> None:
    _serve_metrics("worker")


def _serve_metrics(process: str) -> None:
    from controlplane.observability.process_pages import serve_metrics

    serve_metrics(process)


@signals.worker_ready.connect(weak=False)
@signals.task_prerun.connect(weak=False)
def _dump_stacks(**_: Any) -> None:
    # Again: the worker and its children take the signal for something else as they start.
    from controlplane.observability.stack_dumps import dump_stacks_on_signal

    dump_stacks_on_signal()


@signals.worker_process_init.connect(weak=False)
def _begin_worker(**_: Any) -> None:
    # Here and not above: this module is imported before the package knows its version.
    from controlplane.observability.traces import tasks

    tasks.begin("worker")


@signals.beat_init.connect(weak=False)
def _begin_beat(**_: Any) -> None:
    from controlplane.observability.traces import tasks

    tasks.begin("beat")


@signals.worker_ready.connect(weak=False)
def _worker_is_present(sender: Any = None, **_: Any) -> None:
    _be_present("worker", str(sender.hostname))


@signals.beat_init.connect(weak=False)
def _beat_is_present(**_: Any) -> None:
    _be_present("beat")
    # Beat has no signal for its end, and no children that would inherit this.
    atexit.register(_leave)


@signals.worker_shutdown.connect(weak=False)
def _leave(**_: Any) -> None:
    while _PRESENCES:
        _PRESENCES.pop().stop()


def _be_present(process: str, instance: str = "") -> None:
    # Django is set up only now.
    from controlplane.members.presence import Presence

    presence = Presence(process, instance)
    presence.start()
    _PRESENCES.append(presence)
