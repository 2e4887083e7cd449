"""The first administrator of an installation on one machine, and the files with its secrets."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.db import transaction

from controlplane.access import authentication, principals, role_bindings
from controlplane.access.models import Principal, PrincipalKind
from controlplane.errors import NotAuthenticated
from controlplane.identity.actors import system
from controlplane.identity.roles import Role
from controlplane.scopes import Scope

ADMIN = "admin"
_ACTOR = system("setup")


@transaction.atomic
def ensure_admin(folder: Path) -> None:
    """Create `admin` if it is missing, and ensure that `admin.token` and `admin.password` are valid.

    Both files have mode 0600. A deleted file is created again, with a new secret.
    """
    admin = Principal.objects.filter(name=ADMIN).first()
    if admin is None:
        admin = principals.create_principal(ADMIN, kind=PrincipalKind.PERSON, actor=_ACTOR)
        role_bindings.bind_role(admin, Role.ADMIN, Scope(), actor=_ACTOR)
    if not _has_valid_token(folder / "admin.token", admin):
        _, secret = principals.create_token(
            admin, name=f"{ADMIN} on this machine", expires_at=None, actor=_ACTOR
        )
        write_secret(folder / "admin.token", secret)
    password_file = folder / "admin.password"
    if not password_file.is_file() or not admin.check_password(password_file.read_text().strip()):
        password = secrets.token_urlsafe(18)
        admin.set_password(password)
        admin.save(update_fields=["password"])
        write_secret(password_file, password)


def write_secret(path: Path, secret: str) -> None:
    """Write a file that only its owner can read, with that mode from its creation on."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secret + "\n")


def _has_valid_token(path: Path, admin: Principal) -> bool:
    try:
        return authentication.find_token(path.read_text().strip()).principal == admin
    except (OSError, NotAuthenticated):
        return False
