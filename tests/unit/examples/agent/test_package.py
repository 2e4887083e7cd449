"""The reference agent as an installable package."""

from __future__ import annotations

import tomllib

from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "agent"


def test_the_package_has_every_module_of_the_folder() -> None:
    package = tomllib.loads((FOLDER / "pyproject.toml").read_text())

    assert package["tool"]["setuptools"]["py-modules"] == sorted(path.stem for path in FOLDER.glob("*.py"))
    module, _, function = package["project"]["scripts"]["controlplane-agent"].partition(":")
    assert f"def {function}() -> None:" in (FOLDER / f"{module}.py").read_text()
