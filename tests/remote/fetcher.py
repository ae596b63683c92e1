"""Starts recordfs-fetch and speaks its protocol (core/remote/protocol.h)."""
import fcntl
import mmap
import os
import re
import select
import signal
import socket
import struct
from dataclasses import dataclass

import built

NAME, OPEN, READ, STATUS, LIST, CLOSE, CANCEL = range(1, 8)
OF_MACHINE = re.compile("_proxy$|_CA_BUNDLE$|^SSL_CERT_|^AWS_|^GS_|^HF_", re.IGNORECASE)  # variables that would change tests
LIST_PAGE = 2 << 20
ARENA = 64 << 20
CODES = ["damage", "unfinished", "stale", "unsupported", "limit", "no_container", "not_found", "pending", "interrupted", "changed",
         "io", "unreadable", "out_of_memory"]
MOST_SECONDS = 60  # for a reply: a test that waits longer has failed


@dataclass
class Reply:
    """A reply, as in core/remote/protocol.h; `data` is what it has put into the arena."""
    failure: str | None
    os_error: int
    is_directory: bool
    is_settled: bool
    id: int
    object: int
    size: int
    received: int
    modified: int
    requests: int
    bytes: int
    retries: int
    cache_hits: int
    text: str
    version: str
    page: str
    data: bytes = b""


def parse_reply(packet):
    kind, code, os_error, flags = struct.unpack_from("<ccIB", packet)
    assert kind == b"R", packet
    at = struct.calcsize("<ccIB")
    numbers = struct.unpack_from("<QQQQqQQQQ", packet, at)
    at += struct.calcsize("<QQQQqQQQQ")
    texts = []
    for _ in range(3):
        size, = struct.unpack_from("<I", packet, at)
        texts.append(packet[at + 4:at + 4 + size].decode())
        at += 4 + size
    assert at == len(packet), packet
    failure = None if code == b"\xff" else CODES[code[0]]
    return Reply(failure, os_error, bool(flags & 1), bool(flags & 2), *numbers, *texts)


class Fetcher:
    """A running recordfs-fetch. A context manager."""

    def __init__(self, *options, environment=None, cache=None):
        cached = [f"--cache-dir={cache}"] if cache else ["--no-cache"]
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arena = os.memfd_create("arena")
        os.ftruncate(arena, ARENA)
        self.arena = mmap.mmap(arena, ARENA)
        inherited = {name: value for name, value in os.environ.items() if not OF_MACHINE.search(name)}

        # First to high numbers: the descriptors may be 3 or 4 already.
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100) for descriptor in (theirs.fileno(), arena)]
        program = built.program("recordfs-fetch")
        self.pid = os.posix_spawn(program, [program, *options, *cached], inherited | (environment or {}),
                                  file_actions=[(os.POSIX_SPAWN_DUP2, descriptor, 3 + i) for i, descriptor in enumerate(high)])
        for descriptor in [*high, arena]:
            os.close(descriptor)
        theirs.close()
        self.last = 0
        self.replies = {}

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        status = self.close()
        assert failure or status in (0, -signal.SIGKILL), f"exit status {status}"

    def close(self):
        """Ends the fetcher, and returns its exit status. Calls after the first one do nothing."""
        self.socket.close()
        if self.pid:
            _, status = os.waitpid(self.pid, 0)
            self.status_at_end = os.waitstatus_to_exitcode(status)
            self.pid = 0
        return self.status_at_end

    def send(self, kind, *, object=0, begin=0, size=0, arena=0, name="", page=""):
        """Sends a request and returns its id."""
        self.last += 1
        packet = b"Q" + struct.pack("<BQQQQQ", kind, self.last, object, begin, size, arena)
        for text in (name, page):
            packet += struct.pack("<I", len(text.encode())) + text.encode()
        self.socket.send(packet)
        return self.last

    def receive(self, request, arena=0, seconds=MOST_SECONDS):
        """Returns the reply of a request."""
        while request not in self.replies:
            if not select.select([self.socket], [], [], seconds)[0]:
                raise TimeoutError(f"no reply within {seconds} s")
            packet = self.socket.recv(1 << 16)
            if not packet:
                raise ConnectionError("the fetcher has ended")
            reply = parse_reply(packet)
            self.replies[reply.id] = reply
        reply = self.replies.pop(request)
        reply.data = self.arena[arena:arena + reply.received]
        return reply

    def ask(self, kind, **fields):
        return self.receive(self.send(kind, **fields), fields.get("arena", 0))

    def name(self, url, of_file=False):
        return self.ask(NAME, name=url, begin=int(of_file))

    def open(self, url, size=256 << 10, of_file=False, begin=0):
        name = self.name(url, of_file)
        return name if name.failure else self.ask(OPEN, name=name.text, size=size, begin=begin)

    def read(self, opened, begin, size):
        return self.ask(READ, object=opened.object, begin=begin, size=size)

    def status(self, url):
        return self.ask(STATUS, name=self.name(url).text)

    def list(self, url):
        """Returns [(name, size, or None of a directory)], or the reply of a failure."""
        name = self.name(url).text
        entries = []
        page = ""
        while True:
            reply = self.ask(LIST, name=name, size=LIST_PAGE, page=page)
            if reply.failure:
                return reply
            at = 0
            while at < len(reply.data):
                is_directory, size, _, length = struct.unpack_from("<BQqI", reply.data, at)
                at += 21
                entries.append((reply.data[at:at + length].decode(), None if is_directory else size))
                at += length
                at += 4 + struct.unpack_from("<I", reply.data, at)[0]  # the version
            page = reply.page
            if not page:
                return entries
