"""What keeps the memory of one connection bounded, and its requests apart."""

from __future__ import annotations

import re
from asyncio import Transport
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl

# Below this, reading goes on: only who reads notices that a client is gone.
MOST_HELD_BYTES = 16 * 1024
# Of responses that the kernel has not taken: behind these, requests wait.
_MOST_UNREAD_BYTES = 16 * 1024
_END_OF_HEAD = b"\r\n\r\n"
# The parser decides what a length is. This only looks for a good place to part requests.
_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: *([0-9]{1,9})\r\n").search


class PipelineFlow(FlowControl):
    """Flow control that holds bytes which came before their turn, and reads no further while they are many.

    held, start: the bytes not yet parsed are `held[start:]`. wake: called when these may be parsed, or when
    something else must be looked at first. is_body_paused: uvicorn wants no more of a body for now.
    """

    def __init__(self, transport: Transport, wake: Callable[[], None]) -> None:
        super().__init__(transport)
        self.held, self.start = b"", 0
        self.is_body_paused = False
        self._wake = wake
        transport.set_write_buffer_limits(high=_MOST_UNREAD_BYTES)

    def hold(self, data: bytes, start: int = 0) -> None:
        """Keep `data[start:]`, behind what is held already."""
        if self.held:
            data, start = self.held[self.start :] + data[start:], 0
        self.held, self.start = data, start
        self._apply()

    def take(self) -> tuple[bytes, int]:
        """Return what is held, and where it begins; it is held no longer. `read_on` must follow."""
        taken = self.held, self.start
        self.held, self.start = b"", 0
        return taken

    def read_on(self) -> None:
        """Read again if nothing speaks against it."""
        self._apply()

    def pause_reading(self) -> None:
        self.is_body_paused = True
        self._apply()

    def resume_reading(self) -> None:
        self.is_body_paused = False
        if self.held:
            self._wake()
        elif self.read_paused:
            self._apply()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.held:
            self._wake()

    def _apply(self) -> None:
        paused = self.is_body_paused or len(self.held) - self.start > MOST_HELD_BYTES
        if paused and not self.read_paused:
            super().pause_reading()
        elif self.read_paused and not paused:
            super().resume_reading()


def may_have_two(data: bytes, *, in_body: bool) -> bool:
    """Return whether a head may end in these bytes behind the end of another request."""
    return data.count(_END_OF_HEAD) > (0 if in_body else 1)


def end_of_request(data: bytes, start: int) -> int:
    """Return the end of a request that begins here; of its head if its body has chunks."""
    end = data.find(_END_OF_HEAD, start)
    if end < 0:
        return len(data)
    end += len(_END_OF_HEAD)
    length = _LENGTH(data, start, end)
    return end if length is None else min(end + int(length[1]), len(data))


def end_of_body(data: bytes, start: int, headers: list[tuple[bytes, bytes]], read: int) -> int:
    """Return the end of a piece with no byte behind the body. read: bytes of the body that were parsed."""
    length = next((value for name, value in headers if name == b"content-length"), b"")
    if length.isdigit():
        return min(start + int(length) - read, len(data))
    # The last chunk, or the trailers, end like a head.
    end = data.find(_END_OF_HEAD, start)
    return len(data) if end < 0 else end + len(_END_OF_HEAD)


class Trailers(list[tuple[bytes, bytes]]):
    """In place of the list of headers once a head is complete: trailers are ignored.

    A proxy checks headers, not trailers, and uvicorn would add these to those.
    """

    def append(self, trailer: tuple[bytes, bytes]) -> None:
        """Do nothing."""
