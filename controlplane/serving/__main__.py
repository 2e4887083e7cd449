"""Serve the web application: `python -m controlplane.serving --port 8000 --workers 4`."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from controlplane.serving.supervisor import Supervisor
from controlplane.serving.watcher import Watcher
from controlplane.serving.worker import Serving, open_socket
from controlplane.settings.web import LEAVE_SECONDS, WEB_HANG_SECONDS

_DEFAULT_APPLICATION = "controlplane.asgi:application"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m controlplane.serving", description=__doc__)
    parser.add_argument("application", nargs="?", default=_DEFAULT_APPLICATION, help="module:name")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="0: any free one (default: %(default)s)")
    parser.add_argument("--workers", type=_positive, default=1, help="processes (default: %(default)s)")
    parser.add_argument(
        "--stop-seconds",
        type=_positive,
        default=20,
        help="time for running requests after SIGTERM; then workers are killed (default: %(default)s)",
    )
    parser.add_argument(
        "--leave-seconds",
        type=_not_negative,
        default=LEAVE_SECONDS,
        help="time after SIGTERM in which all requests are answered, and /readyz with 503, so that load"
        " balancers send no new ones (default: LEAVE_SECONDS, here %(default)s)",
    )
    parser.add_argument("--tls-certificate", metavar="FILE", help="PEM; also needs --tls-key")
    parser.add_argument("--tls-key", metavar="FILE", help="PEM")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _not_negative(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be at least 0, not {number}")
    return number


def _load(parser: argparse.ArgumentParser, path: str) -> Any:
    """Import the application. path: module:name."""
    module, _, name = path.partition(":")
    next_step = "Write the application as module:name."
    try:
        loaded = importlib.import_module(module) if module else None
    except ModuleNotFoundError as error:
        # An import inside the module that fails is a bug, whose traceback is needed.
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        parser.error(f"cannot import {module}: there is no module {error.name}. {next_step}")
    if not name or not hasattr(loaded, name):
        parser.error(f"the module {module!r} has no application {name!r}. {next_step}")
    return getattr(loaded, name)


def main() -> int:
    """Serve until SIGTERM or SIGINT; return the exit code."""
    parser = _parser()
    options = parser.parse_args()
    if bool(options.tls_certificate) != bool(options.tls_key):
        parser.error("--tls-certificate and --tls-key are used together")
    try:
        listener = open_socket(options.host, options.port)
    except OSError as error:
        next_step = "Stop the process that uses it, or choose another with --port."
        parser.error(f"cannot listen on {options.host}:{options.port}: {error.strerror}. {next_step}")
    # Before the application is imported, so that it knows where to send signs of life.
    watcher = Watcher(WEB_HANG_SECONDS) if WEB_HANG_SECONDS else None
    application = _load(parser, options.application)
    serving = Serving(application, listener, options.stop_seconds, options.tls_certificate, options.tls_key)
    supervisor = Supervisor(
        serving.run,
        listener,
        options.workers,
        watcher,
        options.stop_seconds,
        leave_seconds=options.leave_seconds,
    )
    return supervisor.run()


if __name__ == "__main__":
    sys.exit(main())
