"""The documentation agrees with the code: generated pages, tables, names, links."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from controlplane.api.problem_types import EXPLANATIONS
from controlplane.identity.roles import ALLOWED, FOR_EVERYONE, INSTALLATION_WIDE, Action, Role

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
CODE = ("controlplane", "overrides", "plugin_store", "registry")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
# A path in the repository, as prose writes it. Generated folders exist only after `make sdk`.
PATH = re.compile(
    r"`((?:controlplane|overrides|registry|console|cpctl|plugin_store|tests|deploy|examples|changes)/[\w./-]+)`"
)


def test_the_error_catalogue_is_up_to_date():
    page = io.StringIO()

    call_command("error_reference", stdout=page)

    assert (DOCS / "errors.md").read_text() == page.getvalue(), "run: make errors"


@pytest.mark.parametrize("code", sorted(EXPLANATIONS))
def test_a_problem_type_leads_to_its_page_and_its_anchor(code):
    assert Client().get(f"/problems/{code}").json()["type"] == f"/problems/{code}"
    assert code in _anchors(DOCS / "errors.md")


def test_the_table_of_roles_is_that_of_the_code():
    documented = _documented_permissions((DOCS / "security-model.md").read_text())

    allowed = {
        str(action): ({role for role in Role if action in ALLOWED[role]}, action in INSTALLATION_WIDE)
        for action in Action
        if action not in FOR_EVERYONE
    }
    assert documented == allowed


def test_names_of_the_glossary_exist_in_the_code():
    rows = (line.split("|") for line in (DOCS / "glossary.md").read_text().splitlines())
    names = {name for row in rows if len(row) == 6 for name in re.findall(r"`([^`]+)`", row[4])}
    source = "\n".join(path.read_text() for folder in CODE for path in (ROOT / folder).rglob("*.py"))

    words = set(re.findall(r"\w+", source))

    assert len(names) > 80
    assert not {name for name in names - words if not re.search(rf"\b{re.escape(name)}\b", source)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_file_and_a_heading(page):
    text = FENCE.sub("", page.read_text())
    broken = [link for link in LINK.findall(text) if not _leads_somewhere(page, link)]

    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_in_prose_exist(page):
    assert not [path for path in PATH.findall(page.read_text()) if not _exists(path)]


def test_every_page_is_in_the_index():
    index = (DOCS / "index.md").read_text()
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in LINK.findall(index)}

    assert {page for page in DOCS.rglob("*.md") if page.name != "index.md"} <= linked


def _exists(path: str) -> bool:
    templates = ROOT / "console" / "templates" / path
    return (ROOT / path).exists() or templates.exists()


def _leads_somewhere(page: Path, link: str) -> bool:
    if re.match(r"[a-z]+:", link):
        return True
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def _documented_permissions(text: str) -> dict[str, tuple[set[Role], bool]]:
    """Return, by action, the roles with a tick, and whether the row is marked as installation-wide."""
    links = {}
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    roles = [Role(name) for name in next(row for row in rows if row[0] == "Permission")[1:]]
    for row in (row for row in rows if len(row) == len(roles) + 1):
        ticked = {role for role, cell in zip(roles, row[1:], strict=True) if cell == "✓"}
        for action in re.findall(r"`([a-z_]+\.[a-z_]+)`", row[0]):
            links[action] = (ticked, row[0].endswith(r"\*"))
    return links
