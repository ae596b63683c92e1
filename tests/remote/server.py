"""A server of HTTP/1.1 on a free port of 127.0.0.1 that serves a folder, logs each request, and fails as its rules say.

It answers as nginx does, or as S3 does (bucket.py). faults.py lists what a rule can make it do.
"""
import contextlib
import datetime
import email.utils
import hashlib
import json
import os
import re
import socket
import ssl
import struct
import sys
import threading
import time
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote_to_bytes

MOST_HEADERS = 64 << 10  # bytes of a request
PIECE = 256 << 10        # bytes that are sent at a time
REASONS = {200: "OK", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 307: "Temporary Redirect",
           308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           405: "Method Not Allowed", 408: "Request Timeout", 412: "Precondition Failed", 416: "Range Not Satisfiable",
           429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}


def http_date(seconds):
    return email.utils.formatdate(seconds, usegmt=True)


class Request:
    """A request as it came, and after it was answered, what was sent."""

    def __init__(self, method, target, headers, port):
        self.method, self.target, self.headers, self.port = method, target, headers, port
        path, _, query = target.partition("?")
        self.path = os.fsdecode(unquote_to_bytes(path))
        self.query = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
        self.begun = time.monotonic()
        self.status = 0       # of the answer; 0: no answer was sent
        self.sent = 0         # bytes of the answer's body
        self.fault = ""       # the name of the fault that was injected
        self.connection = 0   # equal for requests of the same connection

    @property
    def range(self):
        return self.headers.get("range", "")

    def parameter(self, name, default=""):
        return dict(self.query).get(name, default)

    def __repr__(self):
        return f"{self.method} {self.target} {self.range or '-'}: {self.status} {self.sent} {self.fault}"


class Answer:
    """An answer before it is sent. Faults change it."""

    def __init__(self, status, headers=None, body=b""):
        self.status, self.headers, self.body = status, dict(headers or {}), body
        self.framing = "length"  # or "chunked", or "close": the body ends with the connection
        self.declared = None     # Content-Length if it is not the body's
        self.version = "HTTP/1.1"

    def size(self):
        return self.body.size if isinstance(self.body, FilePart) else len(self.body)

    def pieces(self):
        if isinstance(self.body, FilePart):
            yield from self.body.pieces()
        else:
            for at in range(0, len(self.body), PIECE):
                yield self.body[at:at + PIECE]

    def data(self):
        return b"".join(self.pieces())

    def head(self):
        headers = dict(self.headers)
        if self.framing == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        elif self.framing == "length":
            headers["Content-Length"] = str(self.size() if self.declared is None else self.declared)
        if self.framing == "close" or self.version == "HTTP/1.0":
            headers["Connection"] = "close"
        lines = [f"{self.version} {self.status} {REASONS.get(self.status, 'Unknown')}",
                 *(f"{name}: {value}" for name, value in headers.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class FilePart:
    """Bytes of a file, which may be sparse and large."""

    def __init__(self, path, begin, size):
        self.path, self.begin, self.size = path, begin, size

    def pieces(self):
        with open(self.path, "rb") as file:
            file.seek(self.begin)
            left = self.size
            while left > 0 and (piece := file.read(min(left, PIECE))):
                left -= len(piece)
                yield piece


class Object:
    """What a path names: a file, or bytes that a test has put there."""

    def __init__(self, size, etag, modified, part):
        self.size, self.etag, self.modified, self.part = size, etag, modified, part

    @staticmethod
    def of_file(path):
        state = os.stat(path)
        etag = hashlib.sha256(f"{state.st_mtime_ns} {state.st_size} {state.st_ino}".encode()).hexdigest()[:32]
        return Object(state.st_size, f'"{etag}"', state.st_mtime, lambda begin, size: FilePart(path, begin, size))

    @staticmethod
    def of_bytes(data, modified):
        return Object(len(data), f'"{hashlib.md5(data).hexdigest()}"', modified, lambda begin, size: data[begin:begin + size])


class Rule:
    """Injects a fault into the requests number `first` to `last`, from 1, among those whose target matches a regex."""

    def __init__(self, target, fault, first=1, last=None):
        self.target, self.fault, self.first, self.last = re.compile(target), fault, first, last
        self.count = 0

    def applies(self, request):
        if not self.target.search(request.target):
            return False
        self.count += 1
        return self.first <= self.count and (self.last is None or self.count <= self.last)


class Dropped(Exception):
    """A fault has ended the connection."""


def reset(connection):
    """Closes a connection so that its peer gets a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Dropped


class Server:
    """Runs from its creation until stop()."""

    def __init__(self, root, delay=0.0, tls=None):
        self.root, self.delay, self.tls = Path(root), delay, tls
        self.requests = []     # all, in the order in which they came
        self.rules = []
        self.problems = []     # of the server itself: a test that finds one fails
        self.objects = {}      # path: bytes that are served in place of a file
        self.closes_after = 0  # the server closes each connection after as many answers, without saying so; 0: never
        self.most_at_once = 0  # requests that were being answered at the same time
        self._at_once = 0
        self._put_at = time.time() - 3600
        self._lock = threading.Lock()
        self._connections = set()
        self._count = 0
        self.stopped = threading.Event()
        self._listening = None
        self.port = 0
        self.listen()

    # Addresses

    @property
    def origin(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def url(self, path):
        """Returns the URL of a path below the root, or of an absolute path that is there."""
        return f"{self.origin}/{quote(os.fsencode(self.below_root(path)))}"

    def below_root(self, path):
        path = os.fspath(path)
        return os.path.relpath(path, self.root) + "/" * path.endswith("/") if os.path.isabs(path) else path

    # The life of the server

    def listen(self):
        """Accepts connections, on the same port as before."""
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", self.port))
        listening.listen(128)
        self.port = listening.getsockname()[1]
        self._listening = listening
        threading.Thread(target=self._accept, args=(listening,), daemon=True).start()

    def refuse(self):
        """Closes all connections, and refuses new ones until listen()."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def stop(self):
        self.stopped.set()
        self.refuse()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # What tests look at

    def take_log(self):
        """Returns the requests since the last call, and forgets them."""
        with self._lock:
            taken, self.requests = self.requests, []
        return taken

    def bytes_sent(self):
        with self._lock:
            return sum(request.sent for request in self.requests)

    def put(self, path, data):
        """Serves bytes at a path, each time as a new version."""
        with self._lock:
            self._put_at += 10
            self.objects[path.lstrip("/")] = (data, self._put_at)

    # Answers

    def find(self, path):
        """Returns the Object at a path, "directory", or None."""
        name = path.lstrip("/")
        if name in self.objects:
            return Object.of_bytes(*self.objects[name])
        if "\0" in name or ".." in name.split("/") or any(len(part) > 255 for part in name.split("/")):
            return None
        file = self.root / name
        if file.is_dir():
            return "directory"
        return Object.of_file(file) if file.is_file() and not path.endswith("/") else None

    def answer(self, request):
        """Returns the Answer of a server without faults."""
        if request.method != "GET":
            return Answer(405, {"Allow": "GET"})
        found = self.find(request.path)
        if found is None:
            return Answer(404, {"Content-Type": "text/html"}, b"<html><body><h1>404 Not Found</h1></body></html>\n")
        if found == "directory":
            if request.path.endswith("/"):
                return self._autoindex(request.path)
            return Answer(301, {"Location": f"{self.origin}{quote(os.fsencode(request.path))}/"})
        return self.part(request, found)

    def part(self, request, found):
        """Returns the answer for an object: all of it, or the range that is asked for."""
        headers = {"Last-Modified": http_date(found.modified), "ETag": found.etag, "Accept-Ranges": "bytes",
                   "Content-Type": "application/octet-stream"}
        wanted = request.headers.get("if-match", "*")
        if wanted != "*" and found.etag not in [tag.strip() for tag in wanted.split(",")]:
            return Answer(412, headers)
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", request.range)
        if not match or match[1] == match[2] == "":
            return Answer(200, headers, found.part(0, found.size))
        if match[1] == "":
            begin, end = max(0, found.size - int(match[2])), found.size
        else:
            begin, end = int(match[1]), min(found.size, int(match[2] or found.size) + 1)
        if begin >= end:
            return Answer(416, {**headers, "Content-Range": f"bytes */{found.size}"})
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{found.size}"
        return Answer(206, headers, found.part(begin, end - begin))

    def _autoindex(self, path):
        """Returns the listing of a directory as nginx formats it with autoindex_format json."""
        rows = []
        for entry in sorted(os.scandir(self.root / path.strip("/")), key=lambda entry: entry.name):
            row = {"name": entry.name, "type": "directory" if entry.is_dir() else "file", "mtime": http_date(entry.stat().st_mtime)}
            rows.append(row if entry.is_dir() else {**row, "size": entry.stat().st_size})
        return Answer(200, {"Content-Type": "application/json"}, json.dumps(rows, indent=0).encode())

    # Connections

    def _accept(self, listening):
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with self._lock:
            self._count += 1
            number = self._count
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with self._lock:
                self._connections.add(connection)
            self._answer_all(connection, number)
        except (OSError, Dropped, ssl.SSLError):
            pass  # the client has gone, or a fault has ended the connection
        except Exception as failed:  # a test reports it
            self.problems.append(repr(failed))
            raise
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _answer_all(self, connection, number):
        reader = connection.makefile("rb")
        answered = 0
        while request := self._read_request(reader):
            request.connection = number
            with self._lock:
                self.requests.append(request)
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
                rule = next((rule for rule in self.rules if rule.applies(request)), None)
            try:
                answer = self.answer(request)
                self.wait(self.delay)
                if rule:
                    request.fault = getattr(rule.fault, "__name__", str(rule.fault))
                    answer = rule.fault(Exchange(self, request, answer, connection))
                self.send(connection, request, answer)
            finally:
                with self._lock:
                    self._at_once -= 1
            answered += 1
            if answer.framing == "close" or answer.version == "HTTP/1.0" or answered == self.closes_after:
                return

    def _read_request(self, reader):
        line = reader.readline(MOST_HEADERS)
        if not line:
            return None
        method, target, _ = line.decode("latin-1").split(" ", 2)
        headers, size = {}, 0
        while (line := reader.readline(MOST_HEADERS)) not in (b"\r\n", b"\n", b""):
            size += len(line)
            if size > MOST_HEADERS:
                raise Dropped
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        reader.read(int(headers.get("content-length", 0)))
        return Request(method, target, headers, self.port)

    def send(self, connection, request, answer):
        """Sends an answer. An own Date in its headers wins."""
        answer.headers.setdefault("Date", http_date(time.time()))
        request.status = answer.status
        connection.sendall(answer.head())
        for piece in answer.pieces():
            if answer.framing == "chunked":
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            else:
                connection.sendall(piece)
            request.sent += len(piece)
        if answer.framing == "chunked":
            connection.sendall(b"0\r\n\r\n")
        if answer.declared is not None and answer.declared > answer.size():
            raise Dropped

    def wait(self, seconds):
        """Waits, but not after the server has stopped."""
        if seconds and self.stopped.wait(seconds):
            raise Dropped


class Exchange:
    """What a fault gets: the answer of a server without it, and the connection."""

    def __init__(self, server, request, answer, connection):
        self.server, self.request, self.answer, self.connection = server, request, answer, connection

    def wait_for_the_client_to_leave(self):
        """Waits until the client closes the connection, or the server stops."""
        self.connection.settimeout(0.1)
        while not self.server.stopped.is_set():
            with contextlib.suppress(TimeoutError):
                if not self.connection.recv(65536):
                    break
        raise Dropped


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def serve_by_hand(folder, fault=None, first=1, last=None):
    """Serves a folder until Enter is pressed, and prints each request."""
    import faults  # faults.py imports this file
    with Server(folder) as server:
        server.rules += [Rule("", getattr(faults, fault), int(first), last and int(last))] if fault else []
        input(f"{server.origin}\n")
        print(*server.requests, sep="\n")


if __name__ == "__main__":
    sys.modules["server"] = sys.modules["__main__"]
    serve_by_hand(*sys.argv[1:])
