"""What would break silently if a file were put in the wrong place."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from packaging.requirements import Requirement

from controlplane.events import types
from overrides.resource_types import BUILT_IN
from overrides.resource_types.operators import RESERVED_NAMES
from overrides.urls import urlpatterns
from tests.support.paths import ROOT

LABELS = [app.rpartition(".")[2] for app in settings.APPS_WITH_TABLES]
TRACKED = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
).stdout.splitlines()


@pytest.mark.parametrize("label", LABELS)
def test_every_app_keeps_its_migrations_in_the_top_level_package(label):
    package = import_module(f"migrations.{label}")

    # A folder without __init__.py is a namespace package: Django would see no migrations, silently.
    assert package.__file__, f"migrations/{label}/__init__.py is missing"
    assert not (Path(apps.get_app_config(label).path) / "migrations").exists()


def test_every_app_with_models_has_a_first_migration():
    loader = MigrationLoader(connection=None)
    ours = {config.label for config in apps.get_app_configs() if config.name in settings.APPS_WITH_TABLES}
    without = {app.rpartition(".")[2] for app in settings.APPS_WITHOUT_TABLES}

    assert ours == set(LABELS)
    assert set(LABELS) <= loader.migrated_apps
    assert not any(
        apps.get_app_config(label).get_models()
        for label in without
        if list(apps.get_app_config(label).get_models())
    )


def test_no_resource_type_has_the_name_of_a_path():
    assert not set(BUILT_IN) & RESERVED_NAMES
    below = {str(route.pattern).split("/")[1] for route in urlpatterns if "/" in str(route.pattern)}
    assert {name for name in below if name.isalpha()} - {"projects", "domains"} <= RESERVED_NAMES


def test_event_types_are_facts_in_the_past_or_states():
    assert len(types.registered()) >= 15
    for event_type in types.registered():
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", event_type.name)
        assert event_type.meaning.endswith(".")


def test_no_lock_file_names_a_registry():
    for name in TRACKED:
        if name.startswith("requirements/") or name.endswith("package-lock.json"):
            assert "://" not in (ROOT / name).read_text()


def test_no_file_is_longer_than_a_reader_likes():
    long = [
        name
        for name in TRACKED
        if name.endswith(".py")
        and not name.startswith(("tests/", "migrations/"))
        and (ROOT / name).exists()
        and len((ROOT / name).read_text().splitlines()) > 300
    ]

    assert long == []


def test_folders_of_tests_mirror_the_packages_of_the_code():
    """tests/unit/<app>/<package>/ and tests/integration/<app>/<package>/ mirror the packages of the code."""
    for kind in ("unit", "integration"):
        folders = {
            Path(name).parent.relative_to(f"tests/{kind}")
            for name in TRACKED
            if name.startswith(f"tests/{kind}/") and name.endswith(".py") and (ROOT / name).exists()
        }

        without = [str(folder) for folder in folders if not any((ROOT / folder).rglob("*.py"))]

        assert without == [], f"tests/{kind} holds folders that no package has: move them after their package"
        assert [
            name for name in TRACKED if Path(name).parent == Path(f"tests/{kind}") and "test_" in name
        ] == []


def test_cpctl_installs_no_version_of_anything_that_it_was_not_tested_with():
    """It is installed without our lock: a later series of typer had other classes, and every call failed."""
    project = tomllib.loads((ROOT / "cpctl" / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["jq"]]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    ours = [*extras["embedded"], *extras["dev"]]

    for one in map(Requirement, needed):
        assert one.specifier.contains(version(one.name))
        assert any(bound.operator == "<" for bound in one.specifier), one
        assert one.name == "pyyaml" or str(one) in {str(Requirement(dev)) for dev in ours}


def test_cpctl_runs_in_the_environment_of_make_up():
    """The tour runs `.venv/bin/cpctl` beside `make up`, before anybody installs the test tools."""
    project = tomllib.loads((ROOT / "cpctl" / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "requirements" / "embedded.txt").read_text()

    for name in (
        Requirement(needed).name
        for needed in [*project["dependencies"], *project["optional-dependencies"]["jq"]]
    ):
        assert f"\n{name}==" in lock, f"{name} is in no extra of `make up`: add it to `embedded`."


def test_cpctl_of_a_checkout_runs_in_any_folder(tmp_path):
    """As `make up` installs it: in `.venv/bin` beside the Python of the checkout."""
    program = tmp_path / ".venv" / "bin" / "cpctl"
    program.parent.mkdir(parents=True)
    shutil.copy(ROOT / "cpctl" / "run_from_checkout.sh", program)
    program.chmod(0o755)
    python = program.parent / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    for package in ("cpctl", "plugin_store"):
        (tmp_path / package).symlink_to(ROOT / package)

    ran = subprocess.run([program, "--help"], cwd="/", capture_output=True, text=True, check=False)

    assert (ran.returncode, "Usage: cpctl" in ran.stdout) == (0, True), ran.stderr
