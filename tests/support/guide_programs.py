"""Programs in the guide about brokers, run as a reader would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "event-brokers.md"


def run_program(name: str, python: str = sys.executable, **environment: str) -> str:
    """Run the program with this name in its first line; return what it prints."""
    (program,) = re.findall(rf"```python\n# {re.escape(name)}\n(.*?)```", _GUIDE.read_text(), re.DOTALL)
    done = subprocess.run(  # noqa: PLW1510  (its errors are shown below)
        [python, "-c", program],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def example(name: str) -> str:
    """Return the YAML document with this name in its first line."""
    (document,) = re.findall(rf"```yaml\n# {re.escape(name)}\n(.*?)```", _GUIDE.read_text(), re.DOTALL)
    return str(document)
