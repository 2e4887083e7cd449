from typing import Any

from django.core.management.base import BaseCommand

from controlplane.access.oauth import signing_keys
from controlplane.identity.actors import system


class Command(BaseCommand):
    help = "Replace the key that signs JWTs. Tokens that the old key signed stay valid until they expire."

    def handle(self, *args: Any, **options: Any) -> None:
        key = signing_keys.rotate(actor=system("rotate_signing_keys"))
        self.stdout.write(f"The key {key.kid} signs now. The next key is published too.")
