"""Repeat the one or two tests that failed in a run of all, each alone on the machine."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.paths import ROOT

LAST_FAILED = ROOT / ".pytest_cache/v/cache/lastfailed"
# More than two at once are no accident of timing.
MOST_BY_CHANCE = 2


def failed_tests() -> list[str]:
    """The ids of the tests that failed in the last run, as pytest remembers them."""
    return sorted(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []


def main() -> int:
    failed = failed_tests()
    if not 0 < len(failed) <= MOST_BY_CHANCE:
        return 1
    names = "\n  ".join(failed)
    print(f"\nThese tests failed beside others, and are repeated alone. Mend them:\n  {names}\n", flush=True)
    return subprocess.run([sys.executable, "-m", "pytest", "-n", "0", *failed], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
