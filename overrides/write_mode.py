"""Write mode: overrides are written through the API (db), or only loaded from a folder of files (file)."""

from __future__ import annotations

from django.conf import settings

from controlplane.errors import SourceIsReadOnly
from controlplane.identity.actors import Actor
from overrides.files_actor import FILES


def reads_files() -> bool:
    return bool(settings.OVERRIDES_SOURCE == "file")


def check_writable(actor: Actor) -> None:
    """Raise SourceIsReadOnly if overrides come from files and the actor is not the file source."""
    if reads_files() and actor.name != FILES.name:
        raise SourceIsReadOnly(
            "Overrides are loaded from the files in OVERRIDES_PATH and are read-only here. Change the files; "
            "GET /api/v1/overrides/source shows whether they are loaded."
        )
