"""The parent of the web workers: forks them, replaces those that end, and stops them.

The application is imported once, before the fork: workers share its memory and start at once. The parent has
one thread and no connections, so that nothing is lost or locked in a fork.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from types import FrameType

from controlplane.serving.watcher import Watcher, log
from controlplane.web import leaving

_LOOK_SECONDS = 0.5
# A worker that ends sooner than this after its start is replaced only after this time.
_SHORT_LIFE_SECONDS = 1.0
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Supervisor:
    """work: runs one worker until SIGTERM. Its argument is a descriptor that is closed when the parent ends.

    listener: which the workers share; closed when the parent stops.
    watcher: stops hung workers; None: nobody does. stop_seconds: for workers to stop by themselves.
    leave_seconds: before that, in which everything is answered, and `/readyz` with 503.
    """

    def __init__(
        self,
        work: Callable[[int], None],
        listener: socket.socket,
        workers: int,
        watcher: Watcher | None,
        stop_seconds: float,
        *,
        leave_seconds: float = 0,
    ) -> None:
        self._work = work
        self._listener = listener
        self._count = workers
        self._watcher = watcher
        self._stop_seconds = stop_seconds
        self._leave_seconds = leave_seconds
        self._started_at: dict[int, float] = {}
        self._not_before = 0.0
        self._stopping = False
        self._woken, self._wake = os.pipe()
        self._parent_lives, self._alive = os.pipe()

    def run(self) -> int:
        """Return 0 after a stop in good order; 1 if workers had to be killed."""
        for descriptor in (self._woken, self._wake):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in _STOP_SIGNALS:
            signal.signal(number, self._stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # it only wakes the parent
        # What is there now stays: collections in workers would otherwise copy all its pages.
        gc.collect()
        gc.freeze()
        while not self._stopping:
            self._fill_up()
            self._wait(_LOOK_SECONDS)
            self._reap()
        self._leave()
        return self._stop_workers()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Stop; a second signal ends the time to leave."""
        if self._stopping:
            self._leave_seconds = 0
        self._stopping = True

    def _leave(self) -> None:
        """Go on answering until load balancers send nothing more."""
        leaving.announce()
        began = time.monotonic()
        while self._started_at and (left := began + self._leave_seconds - time.monotonic()) > 0:
            self._wait(min(left, _LOOK_SECONDS))
            self._reap()

    def _fill_up(self) -> None:
        while len(self._started_at) < self._count and time.monotonic() >= self._not_before:
            worker = os.fork()
            if worker == 0:
                self._become_worker()
            self._started_at[worker] = time.monotonic()

    def _become_worker(self) -> None:
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in (*_STOP_SIGNALS, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            for descriptor in (self._alive, self._woken, self._wake):
                os.close(descriptor)
            self._work(self._parent_lives)
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _wait(self, seconds: float) -> None:
        """Wait for a signal, and listen to signs of life meanwhile."""
        if self._watcher:
            self._watcher.watch(seconds, self._woken)
        else:
            select.select([self._woken], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 512)

    def _reap(self) -> None:
        """Forget workers that have ended."""
        while self._started_at:
            worker, status = os.waitpid(-1, os.WNOHANG)
            if worker == 0:
                return
            lived = time.monotonic() - self._started_at.pop(worker)
            if lived < _SHORT_LIFE_SECONDS:
                self._not_before = time.monotonic() + _SHORT_LIFE_SECONDS
            if not self._stopping:
                how = os.waitstatus_to_exitcode(status)
                log(f"Web worker {worker} ended ({how}) and is replaced.", worker=worker, code=how)

    def _stop_workers(self) -> int:
        # New connections are refused at once, instead of waiting for workers that stop.
        self._listener.close()
        _send_all(self._started_at, signal.SIGTERM)
        until = time.monotonic() + self._stop_seconds
        while self._started_at and (left := until - time.monotonic()) > 0:
            select.select([self._woken], [], [], min(left, _LOOK_SECONDS))
            self._reap()
        killed = list(self._started_at)
        _send_all(killed, signal.SIGKILL)
        for worker in killed:
            os.waitpid(worker, 0)
            seconds = f"{self._stop_seconds:g} s"
            log(f"Web worker {worker} did not stop in {seconds} and was killed.", worker=worker)
        return 1 if killed else 0


def _send_all(workers: dict[int, float] | list[int], number: signal.Signals) -> None:
    for worker in workers:
        # Not yet reaped, so that its process id cannot belong to another process.
        os.kill(worker, number)
