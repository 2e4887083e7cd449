"""The architecture holds: what is declared pure reaches no framework, and the contract covers it."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import grimp
import pytest

from tests.contract import package_list

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("controlplane", "overrides", "registry", "console")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
PURE = next(contract for contract in CONTRACTS if contract["name"] == "Decisions are pure Python")
FRAMEWORKS = PURE["forbidden_modules"]


def docstrings() -> dict[str, str]:
    """The first paragraph of each module's docstring; packages without one are left out."""
    paragraphs = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            docstring = ast.get_docstring(ast.parse(path.read_text()))
            if docstring:
                paragraphs[module] = docstring.split("\n\n")[0].replace("\n", " ")
    return paragraphs


DOCSTRINGS = docstrings()


def says_pure(module: str) -> bool:
    """Whether the module's own docstring says so, or that of a package around it."""
    parts = module.split(".")
    around = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return any(re.search(r"\bPure[.:]", DOCSTRINGS.get(name, "")) for name in around)


SAY_PURE = sorted(module for module in DOCSTRINGS if says_pure(module))


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, include_external_packages=True, exclude_type_checking_imports=True)


def test_what_says_that_it_is_pure_reaches_no_framework(imports: grimp.ImportGraph) -> None:
    frameworks = [name for name in FRAMEWORKS if name in imports.modules]
    chains = {
        module: chain
        for module in SAY_PURE
        for framework in frameworks
        if (chain := imports.find_shortest_chain(module, framework))
    }

    assert len(SAY_PURE) > 100
    assert len(frameworks) >= 6
    assert chains == {}


def test_what_the_contract_covers_says_that_it_is_pure() -> None:
    covered = [
        module
        for module in DOCSTRINGS
        if any(module == source or module.startswith(f"{source}.") for source in PURE["source_modules"])
    ]

    assert len(covered) > 60
    assert [module for module in covered if not says_pure(module)] == []


def test_nobody_imports_what_django_alone_looks_for(imports: grimp.ImportGraph) -> None:
    assert imports.find_modules_that_directly_import("registry.models") == set()


def test_the_list_of_packages_is_up_to_date() -> None:
    page = package_list.PAGE.read_text()

    assert page == package_list.with_table(page), "Run `make packages` and commit CONTRIBUTING.md."
