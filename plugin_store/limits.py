"""Limits of extraction, and the account of what an archive has used of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from plugin_store.errors import ArchiveTooLarge

KIB, MIB, GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may use at most. `ratio` holds above `ratio_free_bytes`: tiny files compress well."""

    archive_bytes: int = GIB
    entries: int = 5_000
    file_bytes: int = 256 * MIB
    total_bytes: int = GIB
    ratio: int = 100
    ratio_free_bytes: int = MIB
    depth: int = 32
    name_bytes: int = 1_024
    # Headers that extend a tar header. Python before 3.11.10 needs quadratic time for them (CVE-2024-6232).
    tar_extension_bytes: int = 4 * KIB
    tar_extensions_total_bytes: int = 2 * MIB


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class Usage:
    """Bytes and entries that were read so far. Headers are not trusted: only what was read counts."""

    limits: Limits
    archive_size: int
    total: int = 0
    entries: int = 0
    paths: set[tuple[str, ...]] = field(default_factory=set)

    def count_entry(self, parts: tuple[str, ...]) -> None:
        """Count an entry, be it a repeated one, and the folders above it that no entry has named."""
        self.entries += 1
        self.paths.update(parts[:length] for length in range(1, len(parts) + 1))
        if max(self.entries, len(self.paths)) > self.limits.entries:
            raise _too_large(f"It holds more than {self.limits.entries:,} files and folders.")

    def count_bytes(self, name: str, so_far: int, chunk: int) -> None:
        """Count a chunk of the file `name`, of which `so_far` bytes were read, this chunk included."""
        self.total += chunk
        if so_far > self.limits.file_bytes:
            raise _too_large(f"The file {name!r} has more than {self.limits.file_bytes:,} bytes.")
        if self.total > self.limits.total_bytes:
            raise _too_large(f"Its files have more than {self.limits.total_bytes:,} bytes together.")
        check_ratio(self.limits, unpacked=self.total, packed=self.archive_size)


def check_ratio(limits: Limits, *, unpacked: int, packed: int) -> None:
    """Refuse an archive that unpacks to far more than it has: a decompression bomb."""
    if unpacked > limits.ratio_free_bytes and unpacked > limits.ratio * packed:
        raise _too_large(f"It unpacks to more than {limits.ratio} times its own size.")


def _too_large(why: str) -> ArchiveTooLarge:
    return ArchiveTooLarge(
        "The archive was refused.",
        why=why,
        advice="Make the archive smaller, or raise this limit if you trust its author.",
    )
