"""Group commit: what threads ask of one object while a transaction runs forms the next transaction. Pure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Question = TypeVar("Question")
Answer = TypeVar("Answer")
# More would make each of them wait for long.
_MOST = 200


@dataclass(slots=True)
class _Entry(Generic[Question, Answer]):
    """leads: this thread runs the next batch."""

    question: Question
    turn: threading.Event = field(default_factory=threading.Event)
    leads: bool = False
    answer: Answer | None = None
    error: BaseException | None = None


class Gathering(Generic[Key, Question, Answer]):
    """work: answers questions about one object, in order, in one transaction, in the thread of one."""

    def __init__(self, work: Callable[[Key, Sequence[Question]], Sequence[Answer]]) -> None:
        self._work = work
        self._lock = threading.Lock()
        # An object has a list while one of its batches runs.
        self._waiting: dict[Key, list[_Entry[Question, Answer]]] = {}

    def run(self, key: Key, question: Question) -> Answer:
        """Return the answer of the batch that the question was in. Raises what `work` raises."""
        entry: _Entry[Question, Answer] = _Entry(question)
        with self._lock:
            if key in self._waiting:
                self._waiting[key].append(entry)
            else:
                self._waiting[key] = []
                entry.leads = True
        if not entry.leads:
            entry.turn.wait()
        if entry.leads:
            self._lead(key, entry)
        if entry.error is not None:
            raise entry.error
        return entry.answer  # type: ignore[return-value]  # set with every batch that raises nothing

    def _lead(self, key: Key, own: _Entry[Question, Answer]) -> None:
        """Run a batch, then hand the next one to a thread that waits for it."""
        with self._lock:
            waiting = self._waiting[key]
            entries = [own, *waiting[: _MOST - 1]]
            del waiting[: _MOST - 1]
        try:
            answers = self._work(key, [entry.question for entry in entries])
            for entry, answer in zip(entries, answers, strict=True):
                entry.answer = answer
        except BaseException as error:
            for entry in entries:
                entry.error = error
        finally:
            self._hand_over(key)
            for entry in entries[1:]:
                entry.turn.set()

    def _hand_over(self, key: Key) -> None:
        with self._lock:
            if not self._waiting[key]:
                del self._waiting[key]
                return
            successor = self._waiting[key].pop(0)
        successor.leads = True
        successor.turn.set()
