"""Write the list of packages in CONTRIBUTING.md from their docstrings: `make packages`."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
PACKAGES = ("controlplane", "overrides", "registry", "console", "cpctl", "plugin_store")
BEGIN, END = "<!-- packages: written by `make packages` -->\n", "<!-- end of packages -->\n"


def table() -> str:
    """One row for each package: its path, and the first paragraph of its docstring."""
    rows = [
        f"| `{path.parent.relative_to(ROOT)}/` | {paragraph} |\n"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("__init__.py"), key=lambda path: path.parent.parts)
        if (paragraph := first_paragraph(path))
    ]
    return "| Package | Holds |\n|---|---|\n" + "".join(rows)


def first_paragraph(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return docstring.split("\n\n")[0].replace("\n", " ").removesuffix(" Pure.")


def with_table(page: str) -> str:
    """The page with the table as it is now. Raises ValueError where the page has no place for it."""
    before, _, after = page.partition(BEGIN)
    _, listed, rest = after.partition(END)
    if not listed:
        raise ValueError(f"CONTRIBUTING.md has no lines {BEGIN.strip()!r} and {END.strip()!r}.")
    return before + BEGIN + table() + END + rest


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
