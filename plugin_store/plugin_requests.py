"""What an installation is asked for, and what it reports. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from plugin_store.archive_entries import kind_of
from plugin_store.digests import Checksum
from plugin_store.errors import MissingChecksum
from plugin_store.limits import DEFAULT_LIMITS, Limits
from plugin_store.manifest import Generation
from plugin_store.names import check_plugin_name
from plugin_store.signatures import Signature, SignatureRules
from plugin_store.sources import ByteSource


@dataclass(frozen=True, slots=True)
class PluginRequest:
    """A plugin that is wanted. `tree` and `size` are known from a lock.

    A request without a checksum needs a reason, which the manifest keeps.
    """

    name: str
    provider: str
    file_name: str
    source: ByteSource
    version: str | None = None
    checksum: Checksum | None = None
    tree: str | None = None
    size: int | None = None
    signature: Signature | None = None
    unverified_reason: str = ""

    @property
    def sha256(self) -> str | None:
        """The SHA-256 that the archive must have, where it is known beforehand."""
        checksum = self.checksum
        return checksum.digest if checksum and checksum.algorithm == "sha256" else None

    def check(self) -> None:
        """Refuse a request that cannot succeed, before anything is read; raises PluginStoreError."""
        check_plugin_name(self.name)
        kind_of(self.file_name)
        if self.checksum is None and not self.unverified_reason:
            raise MissingChecksum(
                f"The archive of {self.name!r} cannot be verified.",
                why="It has no checksum.",
                advice="State its SHA-256, or a reason for using it unverified.",
            )


class InstallMode(StrEnum):
    """What a failed plugin does: keep its previous version, or stop the whole installation."""

    BEST_EFFORT = "best_effort"
    STRICT = "strict"


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """How to install. `keep` is the number of older generations for rollback."""

    mode: InstallMode = InstallMode.STRICT
    limits: Limits = DEFAULT_LIMITS
    signatures: SignatureRules = field(default_factory=SignatureRules)
    keep: int = 3
    lock_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class InstallReport:
    """The result: the active generation, and what happened to each plugin by name."""

    generation: Generation
    installed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, str] = field(default_factory=dict)
