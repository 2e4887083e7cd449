"""RESP2, the protocol of Redis: requests from bytes, and replies as bytes. Pure.

Format: redis.io, "Redis serialization protocol specification".
"""

from __future__ import annotations

from controlplane.errors import MalformedBody

Command = list[bytes]
# Of one command: name, key and a token of at most 512 characters.
_MOST_PARTS, _MOST_BYTES = 8, 4096
_END = b"\r\n"
OK = b"+OK\r\n"
PONG = b"+PONG\r\n"
EMPTY_ARRAY = b"*0\r\n"


class CommandReader:
    """Cuts the bytes of a connection into commands. Raises MalformedBody for what is no command."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Command]:
        """Return the commands that are complete with these bytes."""
        self._buffer += data
        commands = []
        while (command := self._next()) is not None:
            commands.append(command)
        return commands

    def _next(self) -> Command | None:
        line, place = self._line(0)
        if line is None:
            return None
        if line[:1] != b"*":
            del self._buffer[:place]
            # An inline command, as people type it.
            return line.split()
        parts: Command = []
        for _ in range(_number(line, b"*", _MOST_PARTS)):
            header, place = self._line(place)
            if header is None:
                return None
            end = place + _number(header, b"$", _MOST_BYTES)
            if len(self._buffer) < end + len(_END):
                return None
            if self._buffer[end : end + len(_END)] != _END:
                raise MalformedBody("A bulk string does not end with CR LF.")
            parts.append(bytes(self._buffer[place:end]))
            place = end + len(_END)
        del self._buffer[:place]
        return parts

    def _line(self, start: int) -> tuple[bytes | None, int]:
        """Return the line at a place without its end, and the place after it; None if it is incomplete."""
        end = self._buffer.find(_END, start)
        if end < 0:
            if len(self._buffer) - start > _MOST_BYTES:
                raise MalformedBody("A line is too long.")
            return None, start
        return bytes(self._buffer[start:end]), end + len(_END)


def _number(line: bytes, kind: bytes, most: int) -> int:
    text = line[1:]
    if line[:1] != kind or not text.isdigit() or len(text) > len(str(most)) or int(text) > most:
        raise MalformedBody(f"Expected {kind.decode()} with a number up to {most}.")
    return int(text)


def integer(number: int) -> bytes:
    return b":%d\r\n" % number


def error(code: str, message: str) -> bytes:
    """Return an error. code: its first word, by which clients distinguish errors."""
    text = " ".join(f"{code} {message}".split())
    return b"-" + text.encode() + _END
