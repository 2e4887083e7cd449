"""What a report says about the cluster, and which texts go along. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from registry.agent_configs.sources.cluster.cache import CacheSnapshot
from registry.agent_configs.sources.cluster.objects import ConfigMap

Place = tuple[str, str]
# The bytes of texts in one report; one text alone may have more.
BATCH_BYTES = 1 << 20
_MAX_BATCH = 100
_MAX_REASON_LENGTH = 500
# A text that the server could not publish is not sent again before this.
_SECONDS_UNTIL_AGAIN = 60.0


@dataclass(frozen=True, slots=True)
class Picture:
    """The cluster as it is reported. texts: by namespace and name, with their digests."""

    documents: Sequence[Mapping[str, Any]]
    texts: Mapping[Place, str]
    digests: Mapping[Place, str]
    errors: Mapping[str, str]
    counts: Mapping[str, int]


@dataclass(slots=True)
class SentTexts:
    """Texts that were sent, so that what the server rejects is not sent with each report."""

    _sent_at: dict[str, float] = field(default_factory=dict)

    def note(self, digests: Iterable[str], *, now: float) -> None:
        recent = {each: at for each, at in self._sent_at.items() if now - at < _SECONDS_UNTIL_AGAIN}
        self._sent_at = {**recent, **dict.fromkeys(digests, now)}

    def is_due(self, digest: str, *, now: float) -> bool:
        at = self._sent_at.get(digest)
        return at is None or now - at >= _SECONDS_UNTIL_AGAIN


def take_picture(snapshot: CacheSnapshot) -> Picture:
    texts = {place_of(each): each.text for each in snapshot.config_maps}
    digests = {place: sha256(text.encode()).hexdigest() for place, text in texts.items()}
    documents = [
        {
            "namespace": each.namespace,
            "name": each.name,
            "sha256": digests[place_of(each)],
            "size": len(each.text.encode()),
            "created_at": each.created_at.isoformat(),
        }
        for each in snapshot.config_maps
    ]
    errors = {namespace: _printable(reason) for namespace, reason in snapshot.errors.items()}
    return Picture(documents, texts, digests, errors, snapshot.counts)


def place_of(config_map: ConfigMap) -> Place:
    return config_map.namespace, config_map.name


def next_texts(
    missing: Iterable[Place],
    picture: Picture,
    is_due: Callable[[str], bool],
    *,
    most_bytes: int = BATCH_BYTES,
) -> dict[Place, str]:
    """Return the texts for the next report, in the order in which the server asks: oldest first."""
    batch: dict[Place, str] = {}
    size = 0
    for place in missing:
        text = picture.texts.get(place)
        if text is None or not is_due(picture.digests[place]):
            continue
        size += len(text.encode())
        if batch and (size > most_bytes or len(batch) == _MAX_BATCH):
            break
        batch[place] = text
    return batch


def report_body(
    picture: Picture, texts: Mapping[Place, str], collector: Mapping[str, Any], known_outcomes: str
) -> dict[str, Any]:
    return {
        "collector": {**collector, "counts": dict(picture.counts)},
        "documents": list(picture.documents),
        "texts": [
            {"namespace": namespace, "name": name, "text": text} for (namespace, name), text in texts.items()
        ],
        "errors": dict(picture.errors),
        "known_outcomes": known_outcomes,
    }


def missing_places(answer: Mapping[str, Any]) -> list[Place]:
    return [(each["namespace"], each["name"]) for each in answer["missing"]]


def _printable(reason: str) -> str:
    """Return a reason that the server accepts, whatever the API server of the cluster wrote."""
    characters = (" " if unicodedata.category(each).startswith("C") else each for each in reason)
    return "".join(characters)[:_MAX_REASON_LENGTH] or "unknown"
