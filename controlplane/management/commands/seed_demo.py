from typing import Any

from django.core.management.base import BaseCommand

from controlplane.demo.seed import seed


class Command(BaseCommand):
    help = "Load the demo data: projects, overrides on every level, six agents. Safe to run again."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(
            "Demo data loaded." if seed() else "The demo data already exist. Nothing was changed."
        )
