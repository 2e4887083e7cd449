"""One table of all that was measured, for the terminal and for docs/performance.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
HEAD = ("Work", "per second", "p50 ms", "p99 ms", "CPU µs web + database", "errors", "ratio", "target")


@dataclass(slots=True)
class Row:
    work: str
    rate: str
    p50: str = ""
    p99: str = ""
    cpu: str = ""
    errors: str = ""
    ratio: str = ""
    target: str = ""

    def cells(self) -> tuple[str, ...]:
        return (self.work, self.rate, self.p50, self.p99, self.cpu, self.errors, self.ratio, self.target)


def markdown(rows: Iterable[Row]) -> str:
    lines = [HEAD, tuple("---" for _ in HEAD), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write(text: str, part: str = "resolve") -> None:
    """Put the text between the marks of that part of the page."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    page = PAGE.read_text()
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")
