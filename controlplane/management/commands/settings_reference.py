from typing import Any

from django.core.management.base import BaseCommand

from controlplane.settings.environment import DECLARED, Setting

_INTRODUCTION = """\
# Settings

Written by `manage.py settings_reference`; a test keeps it true. To change a line, change the declaration in
`controlplane/settings/`.

Settings come from the environment. Every setting below can also come from a file:
`NAME_FILE=/run/secrets/name` reads the value of `NAME` from there, and wins over `NAME`. A value that cannot
be used stops the start, and the message names the setting. Yes is `1`, `true`, `yes` or `on`.

| Name | Default | Meaning |
|---|---|---|
"""
# Read by others than our settings modules.
_ELSEWHERE = """
Beside these:

| Name | Read by | Meaning |
|---|---|---|
| `DJANGO_SETTINGS_MODULE` | Django | `controlplane.settings.production`; without it manage.py takes `.dev`. |
| `PROMETHEUS_MULTIPROC_DIR` | prometheus-client | Empty folder where one server's processes sum up figures. |
| `DATA_DIR` | `make up`, manage.py | Folder of everything that one machine keeps; `.data`. |
| `PORT`, `DEMO` | `make up` | Port of the console and the API, `8000`; `DEMO=0` leaves the demo out. |
"""


class Command(BaseCommand):
    help = "Print docs/settings.md: every setting of ours, its default and its meaning."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        rows = "".join(_row(DECLARED[name]) for name in sorted(DECLARED))
        self.stdout.write(_INTRODUCTION + rows + _ELSEWHERE, ending="")


def _row(setting: Setting) -> str:
    default = "**required**" if setting.default is None else f"`{setting.default}`" if setting.default else ""
    meaning = setting.meaning.replace("|", r"\|")
    return f"| `{setting.name}` | {default} | {meaning} |\n"
