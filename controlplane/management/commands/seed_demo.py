from typing import Any

from django.core.management.base import BaseCommand

from controlplane.demo.seed import seed


class Command(BaseCommand):
    help = "Load the demo: projects, domains, overrides on every level, six agents. Twice does no harm."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write("The demo is loaded." if seed() else "The demo was loaded before; nothing changed.")
