"""Read a folder of override documents: which files, which documents, which mistakes. Touches no database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from controlplane.errors import ControlplaneError, FieldError
from controlplane.formats import strict_yaml
from overrides.documents.documents import ReceivedDocument, unpacked

SUFFIXES = (".yaml", ".yml", ".json")
MAX_FILES = 10_000
MAX_FILE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileError:
    """One mistake in one file. line, column: from 1; 0 where the whole file is meant."""

    file: str
    line: int
    column: int
    pointer: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds. places: file and line of each document, by its number in `documents`."""

    digest: str
    files: tuple[str, ...]
    documents: tuple[ReceivedDocument, ...]
    places: tuple[tuple[str, dict[str, strict_yaml.Position]], ...]
    errors: tuple[FileError, ...]


def read_texts(path: Path) -> dict[str, bytes]:
    """The files by relative name, in order. Raises OSError if the folder cannot be read.

    Names with a leading dot are passed over: Kubernetes keeps the versions of a mounted ConfigMap in them.
    """
    if not path.is_dir():
        raise FileNotFoundError(f"{path.name!r} is no folder, or cannot be reached")
    names = sorted(
        found.relative_to(path)
        for found in path.rglob("*")
        if found.suffix in SUFFIXES
        and not any(part.startswith(".") for part in found.relative_to(path).parts)
        and found.is_file()
    )
    return {name.as_posix(): (path / name).read_bytes() for name in names[: MAX_FILES + 1]}


def digest_of(texts: dict[str, bytes]) -> str:
    hashed = hashlib.sha256()
    for name, content in texts.items():
        hashed.update(f"{len(name)}:{name}:{len(content)}:".encode())
        hashed.update(content)
    return hashed.hexdigest()


def read_folder(texts: dict[str, bytes]) -> Folder:
    """Read every document of the files. Mistakes of all files are collected, not raised."""
    documents: list[ReceivedDocument] = []
    places: list[tuple[str, dict[str, strict_yaml.Position]]] = []
    errors: list[FileError] = []
    if len(texts) > MAX_FILES:
        errors.append(FileError("", 0, 0, "", "too_many_files", f"{MAX_FILES} files at most."))
    for name, content in texts.items():
        try:
            for value, where in _documents(content):
                number = len(places)
                places.append((name, where))
                documents += _single(ReceivedDocument(value, f"/documents/{number}", name), where)
        except ControlplaneError as error:
            errors += [_of_file(name, one) for one in error.errors]
    return Folder(digest_of(texts), tuple(texts), tuple(documents), tuple(places), tuple(errors))


def file_errors(folder: Folder, errors: Sequence[FieldError]) -> tuple[FileError, ...]:
    """Turn errors about documents into errors about files."""
    found = []
    for error in errors:
        said, _, _ = error.pointer.removeprefix("/documents/").partition("/")
        if not said.isdecimal() or int(said) >= len(folder.places):
            found.append(FileError("", 0, 0, error.pointer, error.code, error.message))
            continue
        name, _ = folder.places[int(said)]
        located = strict_yaml.located(error, [where for _, where in folder.places])
        inner = error.pointer.removeprefix(f"/documents/{said}")
        found.append(FileError(name, located.line, located.column, inner, error.code, error.message))
    return tuple(found)


def _documents(content: bytes) -> Iterator[tuple[object, dict[str, strict_yaml.Position]]]:
    if len(content) > MAX_FILE_BYTES:
        message = f"A file has {MAX_FILE_BYTES} bytes at most."
        raise ControlplaneError(message, errors=[FieldError("", "too_large", message)])
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        message = f"The file is not UTF-8: byte {error.start} cannot be decoded."
        raise ControlplaneError(message, errors=[FieldError("", "malformed", message)]) from error
    yield from zip(strict_yaml.load_all(text), strict_yaml.positions(text), strict=True)


def _single(sent: ReceivedDocument, where: dict[str, strict_yaml.Position]) -> Iterator[ReceivedDocument]:
    """The single documents of one, each with the line that it begins at."""
    for one in unpacked(sent):
        line, _ = strict_yaml.nearest(one.pointer.removeprefix(sent.pointer), where)
        yield replace(one, place=f"{sent.place}:{line}")


def _of_file(name: str, error: FieldError) -> FileError:
    return FileError(name, error.line, error.column, error.pointer, error.code, error.message)
