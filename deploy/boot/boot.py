"""Write the input of a job's run to JOB_DIR/in, for the executor beside it.

Needs Python 3.9 and its standard library. docs/guides/executor-boot.md describes the variables.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

_SECONDS, _RETRIES = 60, 3
_EXCHANGE = {
    "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
}
_REASONS = {
    401: "the token is not accepted. Check CONTROLPLANE_TOKEN_FILE, or the issuer's rule.",
    403: "the token may not do this. Bind the role executor to the project.",
}


class BootError(Exception):
    """What went wrong, and what to do. It has no values of variables."""


def main(environment: Mapping[str, str]) -> None:
    """Fetch the bundle and write it. Raises BootError."""
    need = ("JOB_DIR", "JOB_NAME", "PROJECT", "SCHEDULED_AT", "INSTANCE_TYPE", "INSTANCE_NAME")
    for name in need:
        if not environment.get(name):
            raise BootError(f"The variable {name} is not set. Set it in the pod's init container.")
    host = environment.get("CONTROLPLANE_HOST") or environment.get("OPTIMUS_HOST", "")
    if not host:
        raise BootError("The variable CONTROLPLANE_HOST is not set. Set it to the address of the server.")
    host = (host if host.startswith(("http://", "https://")) else f"https://{host}").rstrip("/")
    token = _token(host, environment)
    job = "/".join(urllib.parse.quote(environment[name], safe="") for name in ("PROJECT", "JOB_NAME"))
    run = {"scheduled_at": environment["SCHEDULED_AT"], "external_id": environment.get("DAG_RUN_ID", "")}
    _ask("Creating the run", f"{host}/api/v1/jobs/{job}/runs", run, token)
    asked = {
        "scheduled_at": environment["SCHEDULED_AT"],
        "instance_type": environment["INSTANCE_TYPE"].lower().replace("type_", ""),
        "instance_name": environment["INSTANCE_NAME"],
    }
    bundle = _ask(
        "Reading the input", f"{host}/api/v1/jobs/{job}:run-input", asked, token, accept="application/x-tar"
    )
    written = write_bundle(bundle, Path(environment["JOB_DIR"]))
    sys.stdout.write(f"boot: {written} files are in {environment['JOB_DIR']}/in\n")


def _token(host: str, environment: Mapping[str, str]) -> str:
    """Return the token of a file, or the one that the pod's own token is exchanged for."""
    if path := environment.get("CONTROLPLANE_IDENTITY_TOKEN_FILE"):
        form = urllib.parse.urlencode({**_EXCHANGE, "subject_token": _read(path)}).encode()
        answer = _ask("Exchanging the pod's token", f"{host}/oauth2/token", form, None)
        return str(json.loads(answer)["access_token"])
    path = environment.get("CONTROLPLANE_TOKEN_FILE", "")
    if not path:
        raise BootError("Set CONTROLPLANE_TOKEN_FILE, or CONTROLPLANE_IDENTITY_TOKEN_FILE.")
    return _read(path)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError as error:
        raise BootError(f"The token file {path} cannot be read: {error.strerror}.") from error


def _ask(what: str, url: str, body: object, token: str | None, accept: str = "application/json") -> bytes:
    """Send a POST, again after temporary failures. Raises BootError."""
    is_form = isinstance(body, bytes)
    headers = {
        "Accept": accept,
        "Content-Type": "application/x-www-form-urlencoded" if is_form else "application/json",
        **({"Authorization": f"Bearer {token}"} if token else {}),
    }
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    for attempt in range(_RETRIES + 1):
        try:
            # http or https: `main` sees to it.
            request = urllib.request.Request(url, data, headers)  # noqa: S310
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            if attempt == _RETRIES or not (error.code == 429 or error.code >= 500):
                raise BootError(f"{what}: {_REASONS.get(error.code) or _problem(error)}") from error
        except (OSError, http.client.HTTPException) as error:
            if attempt == _RETRIES:
                raise BootError(
                    f"{what}: {url.split('/api/', maxsplit=1)[0]} does not respond: {error}"
                ) from error
        time.sleep(2**attempt)
    raise AssertionError("unreachable")


def _problem(error: urllib.error.HTTPError) -> str:
    try:
        detail = json.loads(error.read())["detail"]
    except (ValueError, KeyError, TypeError):
        detail = ""
    return f"status {error.code}. {detail}".strip()


def write_bundle(bundle: bytes, job_dir: Path) -> int:
    """Unpack the bundle beside its place, and move it there whole. Raises BootError."""
    for left in job_dir.glob(".boot-*"):
        shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=".boot-", dir=str(job_dir)))
    try:
        files = _unpack(bundle, scratch)
        _check_values(scratch / "in")
        if (job_dir / "in").exists():
            os.rename(job_dir / "in", scratch / "old")
        os.rename(scratch / "in", job_dir / "in")
        return files
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unpack(bundle: bytes, folder: Path) -> int:
    files = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(bundle)) as archive:
            for member in archive:
                parts = member.name.split("/")
                if parts[0] != "in" or any(part in ("", ".", "..") for part in parts[1:]):
                    raise BootError("The archive has a file outside of its folder.")
                target = folder.joinpath(*parts)
                if member.isdir():
                    target.mkdir(mode=0o755, exist_ok=True)
                elif member.isfile():
                    source = archive.extractfile(member)
                    assert source is not None
                    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o400)
                    with open(descriptor, "wb") as file:
                        shutil.copyfileobj(source, file)
                    os.chmod(target, member.mode & 0o555)
                    files += 1
                else:
                    raise BootError("The archive has an entry that is neither file nor folder.")
    except tarfile.TarError as error:
        raise BootError("The server's answer is no tar archive.") from error
    return files


def _check_values(folder: Path) -> None:
    """Raise BootError for variables whose templates read something that does not exist."""
    lines = [line for name in ("env", "secret") for line in (folder / name).read_text().splitlines()]
    missing = sorted({line.split("=", 1)[0] for line in lines if "<no value>" in line})
    if missing:
        raise BootError(
            f"These variables have no value: {', '.join(missing)}. Set what their templates read, or correct"
            " the templates."
        )


def _fail(error: BootError) -> NoReturn:
    sys.stderr.write(f"boot: {error}\n")
    sys.exit(1)


if __name__ == "__main__":
    try:
        main(os.environ)
    except BootError as problem:
        _fail(problem)
