"""Checks of a job's files before any run: names, templates, and which of them can read a secret. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controlplane.errors import FieldError
from registry.jobs.assets import asset_name_error
from registry.jobs.templates import TemplateError
from registry.jobs.templates.parser import parse
from registry.jobs.templates.secrets import can_read_secret


@dataclass(frozen=True, slots=True)
class AssetFindings:
    """sensitive: names of files whose templates can read a secret."""

    errors: tuple[FieldError, ...] = ()
    warnings: tuple[FieldError, ...] = ()
    sensitive: frozenset[str] = frozenset()


def check_assets(assets: Mapping[str, str]) -> AssetFindings:
    """Return all errors and warnings of the files."""
    errors, warnings, sensitive = [], [], set()
    for name, text in assets.items():
        pointer = f"/assets/{name.replace('~', '~0').replace('/', '~1')}"
        if message := asset_name_error(name) or _folder_error(name, assets):
            errors.append(FieldError(pointer, "invalid_value", message))
            continue
        try:
            template = parse(text)
        except TemplateError as error:
            errors.append(
                FieldError(pointer, "invalid_template", error.message, line=error.line, column=error.column)
            )
            continue
        if can_read_secret(template):
            sensitive.add(name)
            message = "The file can read a secret. It is written for the executor alone, and never cached."
            warnings.append(FieldError(pointer, "sensitive", message, "Use a setting of the task instead."))
    return AssetFindings(tuple(errors), tuple(warnings), frozenset(sensitive))


def _folder_error(name: str, assets: Mapping[str, str]) -> str:
    """Return why the name cannot be beside the others, or empty text: a file is no folder."""
    parts = name.split("/")
    parents = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    taken = next((parent for parent in parents if parent in assets), "")
    return f"The job has a file {taken[:80]!r}, so no file can be below it." if taken else ""
