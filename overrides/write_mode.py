"""Where overrides come from: the API (db), or a folder of files (file), which is then the only truth."""

from __future__ import annotations

from django.conf import settings

from controlplane.errors import SourceIsReadOnly
from controlplane.identity.actors import Actor, system

FILES = system("files")


def reads_files() -> bool:
    return bool(settings.OVERRIDES_SOURCE == "file")


def check_writable(actor: Actor) -> None:
    """Raise SourceIsReadOnly if overrides come from files and somebody else wants to change them."""
    if reads_files() and actor.name != FILES.name:
        raise SourceIsReadOnly(
            "Overrides come from the files in OVERRIDES_PATH here. Change the file and let it be loaded; "
            "GET /api/v1/overrides/source shows its state."
        )
