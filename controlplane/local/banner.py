"""What `make up` says when everything is ready."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Protocol

from controlplane.extras import is_installed

_TEXT = """
Ready in {seconds:.1f} s.

  Console   {address}/    (API: {address}/api/v1/docs)
  Flyte     {flyte}
  Log in    admin, with the password in {folder}/admin.password
  Token     {folder}/admin.token
  Logs      {folder}/logs/

Three commands to try:

  export TOKEN=$(cat {token})
  curl -s -H "Authorization: Bearer $TOKEN" "{address}/api/v1/me"
  curl -s -H "Authorization: Bearer $TOKEN" "{address}/api/v1/overrides/effective?{scope}"

Ctrl-C stops everything."""
_DEMO_SCOPE = "project=flytesnacks&domain=development&workflow=MyExampleWorkflow"
# Every installation has this domain.
_BARE_SCOPE = "domain=development"


class Chosen(Protocol):
    """What of the options is told."""

    @property
    def port(self) -> int: ...
    @property
    def grpc_port(self) -> int: ...
    @property
    def demo(self) -> bool: ...


def _flyte(port: int) -> str:
    if not is_installed("flyte"):
        return "is not served: the extra `flyte` is not installed"
    return f"127.0.0.1:{port}    (gRPC, for flytectl and flytekit)"


def greeting(folder: Path, options: Chosen, seconds: float) -> str:
    here = Path.cwd()
    shown = str(folder.relative_to(here) if folder.is_relative_to(here) else folder)
    return _TEXT.format(
        seconds=seconds,
        address=f"http://127.0.0.1:{options.port}",
        flyte=_flyte(options.grpc_port),
        folder=shown,
        token=quote(f"{shown}/admin.token"),
        scope=_DEMO_SCOPE if options.demo else _BARE_SCOPE,
    )
