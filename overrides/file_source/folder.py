"""Read a folder of override documents: its files, documents and errors. Does not use the database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from controlplane.errors import ControlplaneError, FieldError
from controlplane.formats import strict_yaml
from overrides.documents.documents import ReceivedDocument, unpack

SUFFIXES = (".yaml", ".yml", ".json")
MAX_FILES = 10_000
MAX_FILE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileError:
    """One error in one file. line, column: from 1; 0 for the whole file."""

    file: str
    line: int
    column: int
    pointer: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Folder:
    """The content of a folder. places: file and positions of each document, by its number in the files."""

    digest: str
    files: tuple[str, ...]
    documents: tuple[ReceivedDocument, ...]
    places: tuple[tuple[str, dict[str, strict_yaml.Position]], ...]
    errors: tuple[FileError, ...]


def read_texts(path: Path) -> dict[str, bytes]:
    """Return the files by relative name, in order. Raises OSError if the folder cannot be read.

    Names with a leading dot are skipped: Kubernetes keeps the versions of a mounted ConfigMap in them.
    """
    if not path.is_dir():
        raise FileNotFoundError(f"{path.name!r} is not a folder or not accessible")
    names = sorted(
        file.relative_to(path)
        for file in path.rglob("*")
        if file.suffix in SUFFIXES
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and file.is_file()
    )
    return {name.as_posix(): (path / name).read_bytes() for name in names[: MAX_FILES + 1]}


def digest_of(texts: dict[str, bytes]) -> str:
    hashed = hashlib.sha256()
    for name, content in texts.items():
        hashed.update(f"{len(name)}:{name}:{len(content)}:".encode())
        hashed.update(content)
    return hashed.hexdigest()


def read_folder(texts: dict[str, bytes]) -> Folder:
    """Read every document of the files. Errors of all files are collected, not raised."""
    documents: list[ReceivedDocument] = []
    places: list[tuple[str, dict[str, strict_yaml.Position]]] = []
    errors: list[FileError] = []
    if len(texts) > MAX_FILES:
        errors.append(
            FileError("", 0, 0, "", "too_many_files", f"The folder can have at most {MAX_FILES} files.")
        )
    for name, content in texts.items():
        try:
            for value, positions in _documents(content):
                number = len(places)
                places.append((name, positions))
                documents += _single(ReceivedDocument(value, f"/documents/{number}", name), positions)
        except ControlplaneError as error:
            errors += [_of_file(name, field_error) for field_error in error.errors]
    return Folder(digest_of(texts), tuple(texts), tuple(documents), tuple(places), tuple(errors))


def file_errors(folder: Folder, errors: Sequence[FieldError]) -> tuple[FileError, ...]:
    """Convert errors in documents into errors in files."""
    result = []
    for error in errors:
        number, _, _ = error.pointer.removeprefix("/documents/").partition("/")
        if not number.isdecimal() or int(number) >= len(folder.places):
            result.append(FileError("", 0, 0, error.pointer, error.code, error.message))
            continue
        name, _ = folder.places[int(number)]
        located = strict_yaml.located(error, [positions for _, positions in folder.places])
        inner = error.pointer.removeprefix(f"/documents/{number}")
        result.append(FileError(name, located.line, located.column, inner, error.code, error.message))
    return tuple(result)


def _documents(content: bytes) -> Iterator[tuple[object, dict[str, strict_yaml.Position]]]:
    if len(content) > MAX_FILE_BYTES:
        message = f"A file can have at most {MAX_FILE_BYTES} bytes."
        raise ControlplaneError(message, errors=[FieldError("", "too_large", message)])
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        message = f"The file is not UTF-8: byte {error.start} cannot be decoded."
        raise ControlplaneError(message, errors=[FieldError("", "malformed", message)]) from error
    yield from zip(strict_yaml.load_all(text), strict_yaml.positions(text), strict=True)


def _single(
    received: ReceivedDocument, positions: dict[str, strict_yaml.Position]
) -> Iterator[ReceivedDocument]:
    """Yield the single documents of one document, each with its first line."""
    for document in unpack(received):
        line, _ = strict_yaml.nearest(document.pointer.removeprefix(received.pointer), positions)
        yield replace(document, place=f"{received.place}:{line}")


def _of_file(name: str, error: FieldError) -> FileError:
    return FileError(name, error.line, error.column, error.pointer, error.code, error.message)
