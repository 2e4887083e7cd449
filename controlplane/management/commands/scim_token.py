from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.access import principals
from controlplane.access.authentication import caller_for
from controlplane.access.issue_tokens import lifetime_policy
from controlplane.database.clock import database_now
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import system
from controlplane.identity.ceilings import SCIM
from controlplane.identity.roles import Action


class Command(BaseCommand):
    help = (
        "Create a token with which an identity provider sends users and groups by SCIM, and nothing else."
        " Its principal needs the role admin."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--principal", required=True, help="Name of an existing service.")
        parser.add_argument("--days", type=int, default=365, help="Lifetime of the token.")

    def handle(self, *args: Any, **options: Any) -> None:
        longest = lifetime_policy().longest
        if not timedelta() < timedelta(days=options["days"]) <= longest:
            raise CommandError(f"--days must be from 1 to {longest.days}, which TOKEN_MAX_DAYS allows.")
        try:
            principal = principals.get_principal(options["principal"])
        except ControlplaneError as error:
            raise CommandError(error.detail) from error
        verdict = caller_for(principal).verdict(Action.ACCESS_WRITE)
        if not verdict.allowed:
            raise CommandError(f"{principal.name} lacks a permission: {verdict.reason}")
        expires_at = database_now() + timedelta(days=options["days"])
        _, secret = principals.create_token(
            principal, name="SCIM", expires_at=expires_at, actor=system("setup"), scopes=[SCIM]
        )
        self.stdout.write(f"Token until {expires_at:%Y-%m-%d}, which is shown only once:\n\n{secret}")
