from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.access.flyte_auth.loaded_clients import load_static_clients
from controlplane.errors import ControlplaneError


class Command(BaseCommand):
    help = "Create or update the OAuth clients of FLYTE_STATIC_CLIENTS_FILE and FLYTE_AUTH_CONFIG_FILE."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            client_ids = load_static_clients()
        except ControlplaneError as error:
            raise CommandError(error.detail) from error
        self.stdout.write(f"OAuth clients: {', '.join(client_ids) or 'none'}")
