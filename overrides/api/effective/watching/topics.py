"""What watchers wait for: the answers of scopes, and which of them may have changed. Pure.

An index contains the topics of each rung of their ladders, as in the snapshot of ready answers. So the cost
of a change depends only on the topics that it covers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from controlplane.scopes import Scope
from overrides.api.effective.fast_path.snapshot import Rung, rung_of

# An answer with sources, the same by FlyteAdmin's rules, and values alone.
NATIVE, FLYTE, VALUES = "native", "flyte", "values"
UNKNOWN = b""


@dataclass(frozen=True, slots=True)
class TopicKey:
    scope: Scope
    resource_type: str = ""
    form: str = VALUES


@dataclass(slots=True, eq=False)
class Topic:
    """etag: of the last computed answer; UNKNOWN before the first. etag_of: that of each watcher."""

    key: TopicKey
    etag: bytes = UNKNOWN
    etag_of: dict[Hashable, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A computed answer. body: empty if the ETag is that of the topic. is_refused: Django must say why."""

    etag: bytes = UNKNOWN
    body: bytes = b""
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class News:
    """An answer that one watcher does not have."""

    key: TopicKey
    answer: Answer


class Topics:
    """Topics with watchers, and those among them whose answer must be computed again."""

    def __init__(self) -> None:
        self._topics: dict[TopicKey, Topic] = {}
        self._by_rung: dict[Rung, set[Topic]] = {}
        self._stale: set[Topic] = set()
        # Who joined since the computation began: its answers may be older than theirs.
        self._newcomers: set[tuple[TopicKey, Hashable]] = set()

    def __len__(self) -> int:
        return len(self._topics)

    def join(self, watcher: Hashable, etags: Mapping[TopicKey, bytes], *, is_current: bool) -> None:
        """Let the watcher wait for other answers than it has.

        is_current: its ETags hold for all changes that were announced.
        """
        for key, etag in etags.items():
            topic = self._topics.get(key)
            if topic is None:
                topic = self._add(key)
                topic.etag = etag if is_current else UNKNOWN
            topic.etag_of[watcher] = etag
            self._newcomers.add((key, watcher))
            if topic.etag != etag:
                # One of the two is older. UNKNOWN, so that the body is computed.
                topic.etag = UNKNOWN
                self._stale.add(topic)

    def leave(self, watcher: Hashable, keys: Iterable[TopicKey]) -> None:
        for key in keys:
            topic = self._topics.get(key)
            if topic is None or topic.etag_of.pop(watcher, None) is None:
                continue
            self._newcomers.discard((key, watcher))
            if not topic.etag_of:
                self._remove(topic)

    def change(self, scopes: Iterable[Scope]) -> None:
        """Note that everything that these scopes cover may have changed."""
        for scope in scopes:
            self._stale |= self._by_rung.get(rung_of(scope), set())

    def has_stale(self) -> bool:
        return bool(self._stale)

    def stale(self) -> dict[TopicKey, bytes]:
        """Take the topics to compute, with the ETags of their last answers."""
        self._newcomers.clear()
        stale, self._stale = self._stale, set()
        return {topic.key: topic.etag for topic in stale}

    def put_back(self, keys: Iterable[TopicKey]) -> None:
        """Note that these could not be computed."""
        self._stale |= {self._topics[key] for key in keys if key in self._topics}

    def settle(self, answers: Mapping[TopicKey, Answer]) -> dict[Hashable, list[News]]:
        """Take the computed answers; return the news of each watcher."""
        news: dict[Hashable, list[News]] = {}
        for key, answer in answers.items():
            topic = self._topics.get(key)
            if topic is None:
                continue
            topic.etag = answer.etag
            for watcher, etag in topic.etag_of.items():
                if etag == answer.etag and not answer.is_refused:
                    continue
                if (key, watcher) in self._newcomers:
                    topic.etag = UNKNOWN
                    self._stale.add(topic)
                else:
                    topic.etag_of[watcher] = answer.etag
                    news.setdefault(watcher, []).append(News(key, answer))
        return news

    def _add(self, key: TopicKey) -> Topic:
        topic = self._topics[key] = Topic(key)
        for rung in key.scope.ladder():
            self._by_rung.setdefault(rung_of(rung), set()).add(topic)
        return topic

    def _remove(self, topic: Topic) -> None:
        del self._topics[topic.key]
        self._stale.discard(topic)
        for rung in topic.key.scope.ladder():
            topics = self._by_rung[rung_of(rung)]
            topics.discard(topic)
            if not topics:
                del self._by_rung[rung_of(rung)]
