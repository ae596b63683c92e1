#!/usr/bin/env python3
"""A proxy on 127.0.0.1 that makes a server seem far away: all bytes arrive later, with as many in flight as are sent.

    delay.py HOST:PORT [MILLISECONDS]     prints the proxy's port, and runs until its standard input is closed

A round trip takes MILLISECONDS (50), half of it each way, and connecting takes one. Bandwidth is not limited, and nothing
models the slow start of TCP, so the server's own connections decide how fast bytes come.
"""
import collections
import selectors
import socket
import subprocess
import sys
import time

PIECE = 1 << 20  # bytes that are received at once
MOST_IN_FLIGHT = 64 << 20  # bytes of one direction of a connection


class Direction:
    """Bytes on their way from one socket to another."""

    def __init__(self, source, sink, free_from):
        self.source, self.sink = source, sink
        self.pieces = collections.deque()  # [due, bytes]; None for the end
        self.in_flight, self.free_from = 0, free_from
        self.is_blocked = self.is_ended = self.is_over = False

    def take(self, now, delay):
        """Receives what is there. Returns whether that was anything."""
        try:
            data = self.source.recv(PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self.is_ended = not data
        self.pieces.append([max(now, self.free_from) + delay, memoryview(data) if data else None])
        self.in_flight += len(data)
        return True

    def send(self, now):
        """Sends what is due. Returns when more is."""
        while self.pieces and self.pieces[0][0] <= now:
            data = self.pieces[0][1]
            try:
                if data is None:
                    self.is_over = True
                    self.sink.shutdown(socket.SHUT_WR)
                else:
                    sent = self.sink.send(data)
                    self.in_flight -= sent
                    self.pieces[0][1] = data[sent:]
                    if sent < len(data):
                        continue
            except BlockingIOError:
                self.is_blocked = True
                return None
            except OSError:
                self.is_over = True
            self.pieces.popleft()
        self.is_blocked = False
        return self.pieces[0][0] if self.pieces else None


class Proxy:
    def __init__(self, address, round_trip):
        self.address, self.delay = address, round_trip / 2
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.connections = []  # pairs of directions
        self.events = {}  # by socket, as registered

    def run(self, end):
        """Runs until `end`, a file, is readable."""
        self.selector.register(end, selectors.EVENT_READ)
        timeout = None
        while True:
            ready = {key.fileobj for key, _ in self.selector.select(timeout)}
            if end in ready:
                return
            if self.listener in ready:
                self.accept()
            timeout = self.advance(ready)

    def accept(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(self.address)
        for one in near, far:
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
            self.events[one] = 0
        free_from = time.monotonic() + 2 * self.delay
        self.connections.append((Direction(near, far, free_from), Direction(far, near, free_from)))

    def advance(self, ready):
        """Moves what can be moved. Returns the seconds until more can."""
        next_due = None
        for both in list(self.connections):
            now = time.monotonic()
            for one in both:
                if one.source in ready and not one.is_ended and one.in_flight < MOST_IN_FLIGHT:
                    one.take(now, self.delay)
                due = one.send(now)
                if due is not None and (next_due is None or due < next_due):
                    next_due = due
            if all(one.is_over for one in both) or (both[1].is_over and both[1].source in ready):
                self.close(both)
                continue
            self.watch(both[0].source, both[0], both[1])
            self.watch(both[1].source, both[1], both[0])
        return None if next_due is None else max(0.0, next_due - time.monotonic())

    def watch(self, one, out, into):
        wanted = selectors.EVENT_READ if not out.is_ended and out.in_flight < MOST_IN_FLIGHT else 0
        wanted |= selectors.EVENT_WRITE if into.is_blocked else 0
        if wanted == self.events[one]:
            return
        if not self.events[one]:
            self.selector.register(one, wanted)
        elif not wanted:
            self.selector.unregister(one)
        else:
            self.selector.modify(one, wanted)
        self.events[one] = wanted

    def close(self, both):
        for one in both:
            if self.events.pop(one.source):
                self.selector.unregister(one.source)
            one.source.close()
        self.connections.remove(both)


class Delayed:
    """While it is entered, `port` leads to the server at (host, port) `address`, `seconds` a round trip away."""

    def __init__(self, address, seconds=0.05):
        self.words = [sys.executable, "-B", __file__, f"{address[0]}:{address[1]}", str(seconds * 1000)]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    proxy = Proxy((host, int(port)), float(sys.argv[2] if len(sys.argv) > 2 else 50) / 1000)
    print(proxy.port, flush=True)
    proxy.run(sys.stdin)


if __name__ == "__main__":
    main()
