from argparse import ArgumentParser
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from controlplane.access.emergency_access import close_access, open_access
from controlplane.access.models import Principal
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor

_ACTOR = "system:break-glass"


class Command(BaseCommand):
    help = (
        "Open emergency access: a principal gets the role admin and a token for a limited time. It is"
        " recorded in the audit log, and every page of the console shows it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--principal", required=True, help="Name or id of an existing principal.")
        parser.add_argument("--minutes", type=int, default=60, help="Duration, at most 480 minutes.")
        parser.add_argument("--reason", default="", help="Reason, recorded in the audit log.")
        parser.add_argument("--close", action="store_true", help="End open emergency access before its time.")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = Actor(None, _ACTOR, reason=options["reason"])
        try:
            if options["close"]:
                self._close(_principal(options["principal"]), actor)
            else:
                self._open(_principal(options["principal"]), options["minutes"], actor)
        except ControlplaneError as error:
            raise CommandError(error.detail) from error

    def _open(self, principal: Principal, minutes: int, actor: Actor) -> None:
        opened = open_access(principal, timedelta(minutes=minutes), actor=actor)
        self.stdout.write(
            f"{principal.name} is an administrator until {opened.access.ends_at:%Y-%m-%d %H:%M} UTC."
            f" Token, which is shown only once:\n\n{opened.secret}\n\n"
            f"End it with: manage.py break_glass --principal {principal.name} --close"
        )

    def _close(self, principal: Principal, actor: Actor) -> None:
        close_access(principal, actor=actor)
        self.stdout.write(
            f"The emergency access of {principal.name} has ended, with all tokens made with it."
        )


def _principal(text: str) -> Principal:
    try:
        condition = Q(name=text) | Q(id=UUID(text))
    except ValueError:
        condition = Q(name=text)
    principal = Principal.objects.filter(condition).first()
    if principal is None:
        raise CommandError(f"The principal {text[:80]!r} does not exist.")
    return principal
