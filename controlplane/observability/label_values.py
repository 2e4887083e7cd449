"""Values of labels that users choose, such as names of providers: a bounded number of them."""

from __future__ import annotations

OTHER = "other"


class FirstValues:
    """Keeps the first values as they are; later ones become `other`. most: values of their own."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def label(self, value: str) -> str:
        if value not in self._known:
            if len(self._known) >= self._most:
                return OTHER
            self._known.add(value)
        return value
