"""All lanes of high availability, one after another, and a table of them: `make ha`.

Together they would starve on two cores. A lane that fails does not keep the others from running.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass

from tests.support.paths import ROOT

_LANES = ("postgres_failover", "sentinel", "nats_cluster", "replicas", "upgrade", "regions", "backup")
# The whole API, as one of the lanes.
_POOLER = "pgbouncer"
_FIGURES = re.compile(r"\b(?:acknowledged|lost|gaps?|stale|longest|passed|failed|skipped)\b")


@dataclass(frozen=True, slots=True)
class Outcome:
    """figures: the lines that tell what was acknowledged or lost, how long gaps were, and what passed."""

    lane: str
    code: int
    seconds: float
    figures: tuple[str, ...]


def main(lanes: list[str]) -> int:
    """Run the lanes, or all; return 1 if one failed."""
    outcomes = [_run(lane) for lane in lanes or (*_LANES, _POOLER)]
    print("\n| Lane | Result | Seconds | Figures |\n|---|---|---|---|")
    for outcome in outcomes:
        result = "failed" if outcome.code else "passed"
        print(f"| {outcome.lane} | {result} | {outcome.seconds:.0f} | {'; '.join(outcome.figures)} |")
    return 1 if any(outcome.code for outcome in outcomes) else 0


def _run(lane: str) -> Outcome:
    began, figures = time.monotonic(), []
    command = [sys.executable, "-m", "pytest", "-s", f"tests/nightly/test_{lane}.py"]
    environment = dict(os.environ)
    if lane == _POOLER:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "tests/api"]
        environment["THROUGH_PGBOUNCER"] = "1"
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", flush=True)
        if _FIGURES.search(line) and not line.startswith((">", "E ", " ")):
            figures.append(line.strip().strip("=").strip())
    return Outcome(lane, process.wait(), time.monotonic() - began, tuple(figures[-20:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
