"""A file server and an S3 that keeps nothing, each a process of its own: what is measured has only itself in it.

    python -m bench.media.servers files|sink

prints its port and serves until its input ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import sys
import threading

FILLING = os.urandom(1 << 20)
_PIECE = 1 << 20


def start_of(size: int) -> bytes:
    """The first bytes of a film of this size; what follows is its media."""
    index = struct.pack(">I", 16) + b"moov" + bytes(8)
    head = struct.pack(">I", 16) + b"ftypisom" + bytes(4) + index
    return head + struct.pack(">I", 1) + b"mdat" + struct.pack(">Q", size - len(head))


def _files(connection: socket.socket) -> None:
    """GET /<size>: a film of so many bytes."""
    request = _head(connection)
    size = int(request.split(b" ")[1].strip(b"/"))
    start = start_of(size)
    top = f'HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nETag: "{size}"\r\nConnection: close\r\n\r\n'.encode()
    connection.sendall(top + start)
    left = size - len(start)
    while left:
        piece = FILLING[: min(left, _PIECE)]
        connection.sendall(piece)
        left -= len(piece)


def _sink(connection: socket.socket) -> None:
    """As much of S3 as an upload in parts needs. Bodies are read and forgotten."""
    buffer = bytearray(_PIECE)
    while head := _head(connection):
        length = int((re.search(rb"(?i)\r\ncontent-length: (\d+)", head) or [b"", b"0"])[1])
        if b"100-continue" in head.lower():
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        while length:
            got = connection.recv_into(buffer, min(length, _PIECE))
            if not got:
                return
            length -= got
        connection.sendall(_answer(head.split(b"\r\n", 1)[0]))


def _answer(first: bytes) -> bytes:
    body = b""
    if first.startswith(b"POST") and b"uploads" in first:
        body = b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
    elif first.startswith(b"POST"):
        body = b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"
    return b'HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: %d\r\n\r\n%s' % (len(body), body)


def _head(connection: socket.socket) -> bytes:
    """Up to the empty line; nothing once the peer has gone. No byte of a body is taken."""
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        seen = connection.recv(65536, socket.MSG_PEEK)
        if not seen:
            return b""
        end = (bytes(head[-3:]) + seen).find(b"\r\n\r\n")
        take = len(seen) if end < 0 else end + 4 - len(head[-3:])
        head += connection.recv(take)
    return bytes(head)


def main() -> None:
    serve = {"files": _files, "sink": _sink}[sys.argv[1]]
    listener = socket.create_server(("127.0.0.1", 0))

    def talk(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError), connection:
            serve(connection)

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
