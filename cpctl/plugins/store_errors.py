"""Errors of the plugin store as those of cpctl, with their exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cpctl.errors import Conflicting, CpctlError, Failed, NotFound, UsageError
from plugin_store.errors import (
    InvalidDocument,
    InvalidName,
    LockDrift,
    PluginStoreError,
    StoreBusy,
    UnknownGeneration,
)

_CLASSES: tuple[tuple[type[PluginStoreError], type[CpctlError]], ...] = (
    (StoreBusy, Conflicting),
    (LockDrift, Conflicting),
    (UnknownGeneration, NotFound),
    (InvalidDocument, UsageError),
    (InvalidName, UsageError),
)


@contextmanager
def as_command_errors() -> Iterator[None]:
    """Raise errors of the store and of its files as errors of the command."""
    try:
        yield
    except PluginStoreError as error:
        raise translated(error) from error
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        raise UsageError(f"Cannot use{place}: {error.strerror or error}.") from error


def translated(error: PluginStoreError) -> CpctlError:
    """Return the command's error; what is no mistake of the caller is a failure."""
    cls = next((ours for theirs, ours in _CLASSES if isinstance(error, theirs)), Failed)
    return cls(f"{error.what} {error.why}", hint=error.advice)
