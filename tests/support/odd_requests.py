"""Odd HTTP requests, made from a plain one: split, doubled, smuggled, damaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

END = b"\r\n\r\n"
CLOSING = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Plain:
    """A request that a fast path takes."""

    method: bytes
    target: bytes
    token: bytes
    body: bytes = b""
    etag: bytes = b""

    def headers(self) -> list[bytes]:
        lines = [b"Host: localhost", b"Authorization: Bearer " + self.token]
        if self.etag:
            lines.append(b"If-None-Match: " + self.etag)
        if self.body:
            lines += [b"Content-Type: application/json", b"Content-Length: %d" % len(self.body)]
        return lines

    def write(
        self,
        *more: bytes,
        method: bytes = b"",
        target: bytes = b"",
        version: bytes = b"HTTP/1.1",
        without: Sequence[bytes] = (),
        body: bytes | None = None,
        end: bytes = b"\r\n",
    ) -> bytes:
        """Return it with other parts. more: header lines. without: beginnings of lines that are left out."""
        kept = [line for line in self.headers() if not line.startswith(tuple(without) or (b"\0",))]
        line = b" ".join([method or self.method, target or self.target, version])
        return end.join([line, *kept, *more, b"", self.body if body is None else body])

    def chunked(self, chunks: bytes, *more: bytes) -> bytes:
        without = (b"Content-Length",)
        return self.write(b"Transfer-Encoding: chunked", *more, without=without, body=chunks)


def one_chunk(body: bytes, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    return b"%x%s\r\n%s\r\n0\r\n%s\r\n" % (len(body), extension, body, trailers)


def odd_requests(plain: Plain) -> dict[str, bytes]:
    """Return complete requests by name; all but the last on their connection may be answered."""
    return {
        **_plain_variants(plain),
        **_targets(plain),
        **_framing(plain),
        **_damaged(plain),
        **_headers(plain),
        **_connections(plain),
    }


def _plain_variants(plain: Plain) -> dict[str, bytes]:
    write, ordinary = plain.write, b"GET /api/v1/event-types HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return {
        "plain": write(),
        "two": write() * 2,
        "ten": write() * 10,
        "an empty line before": b"\r\n\r\n" + write(),
        "mixed": write() + ordinary + write() + ordinary + write(),
        "ordinary first": ordinary + write() * 3,
        "an invalid one behind": write() + b"BROKEN\r\n\r\n",
        "an invalid one behind two": write() * 2 + ordinary + b"GET / HTTP/9.9\r\n\r\n",
        "a large head behind": write() * 2 + write(b"X-Large: " + b"x" * 17_000),
        "a bad target behind": ordinary + write() + write(target=b"http://"),
        "bad chunks behind": ordinary + write() + plain.chunked(b"zz\r\n"),
    }


def _targets(plain: Plain) -> dict[str, bytes]:
    path, _, query = plain.target.partition(b"?")
    last = path[-1:]
    targets = {
        "absolute": b"http://localhost" + plain.target,
        "absolute elsewhere": b"http://evil.example" + plain.target,
        "star": b"*",
        "percent": path[:-1] + b"%%%02x" % last[0] + (b"?" + query if query else b""),
        "percent slash": path.replace(b"/v1/", b"/v1%2f"),
        "percent broken": path + b"%zz",
        "percent null": path + b"%00",
        "two slashes": b"/" + plain.target,
        "slash at the end": path + b"/",
        "dots": path.replace(b"/v1/", b"/v1/./"),
        "two dots": path.replace(b"/v1/", b"/v1/x/../"),
        "fragment": plain.target + b"#part",
        "fragment in the path": path.replace(b"/v1/", b"/v1#/"),
        "fragment before the end": path.replace(b"/heartbeat", b"#/heartbeat"),
        "question mark": path + b"?",
        "two question marks": plain.target + b"?x",
        "unknown parameter": plain.target + (b"&" if query else b"?") + b"nonsense=1",
        "upper case": path.upper(),
        "semicolon": path + b";x=1",
        "not ASCII": path + b"\xc3\xa9",
        "not ASCII query": plain.target + (b"&" if query else b"?") + b"x=\xff",
        "tab": path + b"\tx",
        "long": path + b"?" + b"x" * 9_000,
    }
    return {f"target: {name}": plain.write(target=target) for name, target in targets.items()}


def _framing(plain: Plain) -> dict[str, bytes]:
    body, write, chunked = plain.body, plain.write, plain.chunked
    length, smuggled = b"Content-Length: %d" % len(body), plain.write()
    requests = {
        "chunked": chunked(one_chunk(body)),
        "chunks of one": chunked(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"),
        "chunk extension": chunked(one_chunk(body, b";a=b")),
        "chunk extension with a line end": chunked(one_chunk(body, b";a\nb")),
        "chunk size overflow": chunked(b"fffffffffffffffff\r\n" + body),
        "chunk size negative": chunked(b"-1\r\n" + body),
        "chunk size with 0x": chunked(b"0x5\r\nhello\r\n0\r\n\r\n"),
        "chunk without its line end": chunked(b"%x\r\n%s0\r\n\r\n" % (len(body), body)),
        "chunk with a bare LF": chunked(b"%x\n%s\n0\n\n" % (len(body), body)),
        "trailer": chunked(one_chunk(body, trailers=b"X-Trailer: 1\r\n")),
        "trailer with a token": chunked(one_chunk(body, trailers=b"Authorization: Bearer x\r\n")),
        "trailer with a host": chunked(one_chunk(body, trailers=b"Host: evil.example\r\n")),
        "CL and TE": write(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + smuggled),
        "TE and CL": chunked(b"0\r\n\r\n" + smuggled, length),
        "CL twice": write(length),
        "CL twice, different": write(b"Content-Length: 3"),
        "CL list": write(b"Content-Length: 5, 5", without=(b"Content-Length",)),
        "CL signed": write(b"Content-Length: +%d" % len(body), without=(b"Content-Length",)),
        "CL negative": write(b"Content-Length: -1", without=(b"Content-Length",)),
        "CL hexadecimal": write(b"Content-Length: 0x5", without=(b"Content-Length",)),
        "CL with zeros": write(b"Content-Length: 000%d" % len(body), without=(b"Content-Length",)),
        "CL overflow": write(b"Content-Length: 99999999999999999999", without=(b"Content-Length",)),
        "CL empty": write(b"Content-Length:", without=(b"Content-Length",)),
        "CL zero": write(b"Content-Length: 0", without=(b"Content-Length",), body=b""),
    }
    codings = {
        **{"identity": b"identity", "gzip": b"gzip, chunked", "twice": b"chunked, chunked"},
        **{"x": b"xchunked", "upper case": b"CHUNKED", "quoted": b'"chunked"', "behind": b"chunked, gzip"},
        **{"vertical tab": b"\x0bchunked", "tab": b"\tchunked", "semicolon": b"chunked;q=1"},
    }
    for name, coding in codings.items():
        line = b"Transfer-Encoding: " + coding
        requests[f"TE {name}"] = write(line, without=(b"Content-Length",), body=one_chunk(body))
    line = b"Transfer-Encoding : chunked"
    requests["TE with a space"] = write(line, without=(b"Content-Length",), body=one_chunk(body))
    return requests


def _damaged(plain: Plain) -> dict[str, bytes]:
    write = plain.write
    return {
        "bare LF": write(end=b"\n"),
        "bare CR": write(end=b"\r"),
        "obsolete fold": write(b"X-Folded: a\r\n b"),
        "folded token": write(b"Authorization: Bearer\r\n " + plain.token, without=(b"Authorization",)),
        "space before the colon": write(b"X-Spaced : 1"),
        "space before a name": write().replace(b"\r\nHost", b"\r\n Host"),
        "no colon": write(b"nonsense"),
        "empty name": write(b": empty"),
        "null in a value": write(b"X-Null: a\0b"),
        "null in a name": write(b"X-N\0: a"),
        "BOM": b"\xef\xbb\xbf" + write(),
        "BOM in the body": write(body=b"\xef\xbb\xbf" + plain.body[3:] if plain.body else b""),
        "two spaces": write().replace(b" ", b"  ", 1),
        "no version": write(version=b""),
        "version 0.9": write(version=b"HTTP/0.9"),
        "version 2.0": write(version=b"HTTP/2.0"),
        "version 1.2": write(version=b"HTTP/1.2"),
        "lower-case version": write(version=b"http/1.1"),
        "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "HEAD": write(method=b"HEAD", body=b"", without=(b"Content-",)),
        "OPTIONS": write(method=b"OPTIONS"),
        "TRACE": write(method=b"TRACE", body=b"", without=(b"Content-",)),
        "CONNECT": write(method=b"CONNECT"),
        "unknown method": write(method=b"NONSENSE"),
        "lower-case method": write(method=plain.method.lower()),
        "other method": write(method=b"PROPFIND"),
    }


def _headers(plain: Plain) -> dict[str, bytes]:
    write, token = plain.write, plain.token
    without_type = {"without": (b"Content-Type",)}
    lines = {
        **{"accept XML": b"Accept: application/xml", "accept nothing": b"Accept: ", "accept": b"Accept: */*"},
        **{"accept a page": b"Accept: text/html,*/*;q=0.1", "gzip": b"Accept-Encoding: gzip"},
        **{
            "content gzip": b"Content-Encoding: gzip",
            "range": b"Range: bytes=0-1",
            "if match": b"If-Match: *",
        },
        **{"if none match": b"If-None-Match: *", "weak etag": b'If-None-Match: W/"x"'},
        **{"etag": b'If-None-Match: "x"', "cookie": b"Cookie: sessionid=x", "origin": b"Origin: http://x"},
        **{"override": b"X-HTTP-Method-Override: DELETE", "proto": b"X-Forwarded-Proto: https"},
        **{"underscores": b"Content_Length: 3", "forwarded": b"X-Forwarded-For: 1.2.3.4"},
        **{"request id": b"X-Request-ID: an-id.1", "bad request id": b"X-Request-ID: <script>"},
        **{
            "key": b"Idempotency-Key: " + sha256(plain.body).hexdigest().encode(),
            "bad key": b"Idempotency-Key: \xff",
            "long": b"X: " + b"x" * 9000,
        },
        **{"language": b"Accept-Language: de", "date": b"If-Modified-Since: nonsense", "te": b"TE: trailers"},
        **{
            "second host": b"Host: localhost",
            "second token": b"Authorization: Bearer x",
            "tab": b"X-Tab:\ta\t",
        },
        **{"not ASCII": b"X-Name: \xc3\xa9\xff", "not ASCII id": b"X-Request-ID: \xc3\xa9"},
        **{"large": b"X-Large: " + b"x" * 16_384, "larger": b"X-Large: " + b"x" * 40_000},
        **{"many": b"\r\n".join(b"X-%d: 1" % number for number in range(500))},
        **{"too many": b"\r\n".join(b"X-%d: 1" % number for number in range(3000))},
    }
    requests = {f"header: {name}": write(line) for name, line in lines.items()}
    for name, host in {"none": None, "empty": b"", "evil": b"evil.example", "port": b"localhost:x"}.items():
        more = () if host is None else (b"Host: " + host,)
        requests[f"host: {name}"] = write(*more, without=(b"Host",))
    for name, value in {
        **{"none": b"", "lower case": b"bearer " + token, "two spaces": b"Bearer  " + token},
        **{"behind": b"Bearer " + token + b" ", "tab": b"Bearer\t" + token, "basic": b"Basic eDp5"},
        **{"two": b"Bearer " + token + b", Bearer x", "wrong": b"Bearer x", "not ASCII": b"Bearer \xff"},
    }.items():
        requests[f"token: {name}"] = write(b"Authorization: " + value, without=(b"Authorization",))
    for kind in (
        b"text/plain",
        b"application/json;charset=utf-16",
        b"APPLICATION/JSON",
        b"application/yaml",
        b"",
    ):
        requests[f"type: {kind.decode()}"] = write(b"Content-Type: " + kind, **without_type)
    requests["no type"] = write(**without_type)
    requests["upper-case names"] = (
        write().replace(b"Authorization", b"AUTHORIZATION").replace(b"Host", b"HOST")
    )
    requests["lower-case names"] = (
        write().replace(b"Authorization", b"authorization").replace(b"Host", b"host")
    )
    return requests


def _connections(plain: Plain) -> dict[str, bytes]:
    write = plain.write
    upgrade = (
        b"Connection: Upgrade, HTTP2-Settings",
        b"Upgrade: h2c",
        b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    )
    return {
        "close": write(b"Connection: close"),
        "close, and one behind": write(b"Connection: close") + write(),
        "close in upper case": write(b"Connection: CLOSE") + write(),
        "close in a list": write(b"Connection: keep-alive, close") + write(),
        "unknown connection": write(b"Connection: nonsense"),
        "1.0": write(version=b"HTTP/1.0") + write(),
        "1.0, kept": write(b"Connection: keep-alive", version=b"HTTP/1.0") + write(),
        "1.0, chunked": plain.chunked(one_chunk(plain.body)).replace(b"HTTP/1.1", b"HTTP/1.0"),
        "continue": write(b"Expect: 100-continue"),
        "continue, twice": write(b"Expect: 100-continue") * 2,
        "expect nonsense": write(b"Expect: nonsense"),
        "h2c": write(*upgrade),
        "h2c, and one behind": write(*upgrade) + write(),
        "websocket": write(b"Connection: Upgrade", b"Upgrade: websocket"),
        "upgrade without connection": write(b"Upgrade: h2c") + write(),
    }
