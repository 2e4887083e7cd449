"""Errors of the plugin store. Each text names what failed, why, and what to do next. Pure."""

from __future__ import annotations

from collections.abc import Mapping


class PluginStoreError(Exception):
    """Base class of all errors of the plugin store."""

    def __init__(self, what: str, *, why: str, advice: str) -> None:
        super().__init__(f"{what} {why} {advice}")
        self.what = what
        self.why = why
        self.advice = advice


class InvalidName(PluginStoreError):
    """A plugin name or version that cannot be part of a path."""


class ArchiveRefused(PluginStoreError):
    """An archive that breaks a rule of extraction."""


class ArchiveDamaged(ArchiveRefused):
    """An archive that is truncated, or that is no archive at all."""


class ArchiveTooLarge(ArchiveRefused):
    """An archive over one of the limits."""


class VerificationFailed(PluginStoreError):
    """An archive that is not the expected one, or cannot be verified."""


class DigestMismatch(VerificationFailed):
    """A digest or a size differs from the expected one."""


class MissingChecksum(VerificationFailed):
    """No checksum to compare an archive with."""


class InvalidChecksum(VerificationFailed):
    """A checksum, or a file of checksums, that cannot be read."""


class SignatureRejected(VerificationFailed):
    """A signature that policy requires is missing, invalid, or of an unknown key."""


class SignatureMethodUnavailable(SignatureRejected):
    """The method of a signature needs software that is not installed."""


class InvalidDocument(PluginStoreError):
    """A lock or a manifest that cannot be read."""


class LockDrift(PluginStoreError):
    """The lock and the wanted plugins differ."""


class SourceFailed(PluginStoreError):
    """The bytes of an archive could not be read from their source."""


class StoreBusy(PluginStoreError):
    """Another process is changing the store."""


class StoreDamaged(PluginStoreError):
    """A folder of the store is missing or was changed, or is a link."""


class UnknownGeneration(PluginStoreError):
    """There is no such generation to roll back to."""


class InstallationFailed(PluginStoreError):
    """Plugins failed in strict mode, so that nothing was installed. `failures` has the reason for each."""

    def __init__(self, failures: Mapping[str, str]) -> None:
        super().__init__(
            f"Nothing was installed, because {len(failures)} plugin(s) failed.",
            why=" ".join(f"{name}: {failure}" for name, failure in sorted(failures.items())),
            advice="Correct these plugins, or install in best-effort mode.",
        )
        self.failures = dict(failures)
