"""Run granian with its own options, and stop hung workers.

With `--respawn-failed-workers`, granian replaces workers that exit. It does not detect hung workers, which
are stopped by a signal or stuck in a call that never returns.
"""

from granian.cli import entrypoint

from controlplane.serving.watcher import watch_workers
from controlplane.settings.web import WEB_HANG_SECONDS

if __name__ == "__main__":
    if WEB_HANG_SECONDS:
        watch_workers(WEB_HANG_SECONDS)
    entrypoint()  # type: ignore[no-untyped-call]
