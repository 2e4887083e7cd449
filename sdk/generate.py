"""Generate the clients from openapi.yaml: `python sdk/generate.py python|typescript|lock [FOLDER]`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from python_finish import finish

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def python(folder: Path) -> None:
    """The package `controlplane_client`, with the layer that cpctl uses too. A warning is an error."""
    where = ("--path", str(ROOT / "openapi.yaml"), "--config", str(HERE / "python.yaml"))
    how = ("--meta", "setup", "--fail-on-warning", "--overwrite", "--output-path", str(folder))
    ours = ("--custom-template-path", str(HERE / "python_templates"))
    _run(sys.executable, "-m", "openapi_python_client", "generate", *where, *how, *ours, cwd=ROOT)
    package = folder / "controlplane_client"
    shutil.rmtree(package / "portable", ignore_errors=True)
    for module in ("session.py", "problems.py", "plain.py", "snapshots.py", "effective_values.py"):
        shutil.copy(HERE / module, package)
    finish(package)
    shutil.copytree(
        ROOT / "cpctl" / "portable", package / "portable", ignore=shutil.ignore_patterns("__pycache__")
    )


def typescript(folder: Path) -> None:
    """The npm package, compiled. Needs node and npm."""
    source = HERE / "typescript"
    lock, installed = source / "package-lock.json", source / "node_modules"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        _run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", cwd=source)
        installed.touch()
    if folder != source:
        left_out = shutil.ignore_patterns("node_modules", "generated", "dist")
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=left_out)
        (folder / "node_modules").symlink_to(installed)
    shutil.copy(ROOT / "openapi.yaml", folder)
    _run("npm", "run", "--silent", "build", cwd=folder)


def lock(folder: Path) -> None:
    """Pin what package.json allows, by hash and without addresses."""
    _run(*["npm", "install", "--package-lock-only", "--omit-lockfile-registry-resolved"], cwd=folder)
    place = folder / "package-lock.json"
    said = json.loads(place.read_text())
    for package in said["packages"].values():
        package.pop("funding", None)
    place.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n")


def _run(*command: str, cwd: Path) -> None:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{ran.stdout}{ran.stderr}")


MAKERS = {
    "python": (python, HERE / "python"),
    "typescript": (typescript, HERE / "typescript"),
    "lock": (lock, HERE / "typescript"),
}

if __name__ == "__main__":
    maker, place = MAKERS[sys.argv[1]]
    maker(Path(sys.argv[2]) if len(sys.argv) > 2 else place)
