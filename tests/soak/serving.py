"""A monitored daemon: its output, and the resources that it holds."""
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PATIENCE = float(os.environ.get("RECORDFS_TEST_PATIENCE", "60"))
CLOSES = 60  # seconds until an unused container is closed, twice what the mirror promises
COMPLAINT = re.compile(r"(ERROR|WARNING): \w+Sanitizer|runtime error:|Assertion .* failed|not dropped|out of memory")


@dataclass
class Holdings:
    used: int  # bytes, as counted by malloc
    resident: int  # bytes
    descriptors: int
    threads: int


class Daemon:
    def __init__(self, programs, source, point, options, flags=()):
        point.mkdir()
        self._point = point
        command = [str(programs / "recordfs"), str(source), str(point), "-f", *flags, "-o", ",".join(["xattr", *options])]
        environment = dict(os.environ, XDG_CACHE_HOME=str(point.parent / "caches"))
        self._running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True, errors="replace", env=environment)
        self.complaints, self.cache, self._requests, self._used, self._updated = [], "", 0, 0, threading.Condition()
        self._open = 0
        self._reader = threading.Thread(target=self._read_log)
        self._reader.start()
        end = time.monotonic() + PATIENCE
        while not os.path.ismount(point):
            if self._running.poll() is not None or time.monotonic() > end:
                raise RuntimeError("recordfs did not mount")
            time.sleep(0.01)

    def _read_log(self):
        """Keeps the relevant lines. A long run logs too much damage to keep."""
        for line in self._running.stdout:
            line = line.rstrip("\n")
            if COMPLAINT.search(line):
                self.complaints.append(line)
            if "cache of chunks: " in line:
                self.cache = line.split("recordfs: ", 1)[-1]
            if " requests: " in line:
                counts = re.findall(r"(\w+) (\d+)", line.split(" requests: ", 1)[1])
                self._requests = sum(int(count) for kind, count in counts if kind != "forget")
            if found := re.search(r" memory: (\d+) bytes in use", line):
                self._used = int(found[1])
            if found := re.search(r" mirrored containers: (\d+) open", line):  # the last line of the output
                with self._updated:
                    self._open = int(found[1])
                    self._updated.notify()

    def requests(self):
        """Returns the daemon's number of requests so far, without FORGET."""
        self._ask()
        return self._requests

    def _ask(self):
        with self._updated:
            self._running.send_signal(signal.SIGUSR1)
            if not self._updated.wait(PATIENCE):
                raise RuntimeError("the daemon prints no statistics")

    def holdings(self):
        """Returns the resources in use once the daemon has closed all unused containers."""
        end = time.monotonic() + CLOSES + PATIENCE
        self._ask()
        while self._open != 0:
            if time.monotonic() > end:
                raise RuntimeError("the daemon keeps containers open")
            time.sleep(1)
            self._ask()
        # A container counts as closed shortly before its threads have ended.
        threads = len(os.listdir(f"/proc/{self._running.pid}/task"))
        time.sleep(1)
        place = Path("/proc") / str(self._running.pid)
        fields = dict(line.split(":", 1) for line in (place / "status").read_text(encoding="utf-8").splitlines())
        return Holdings(self._used, int(fields["VmRSS"].split()[0]) << 10, len(os.listdir(place / "fd")),
                        min(threads, int(fields["Threads"])))

    def end(self):
        """Stops the daemon and checks its exit status."""
        self._running.send_signal(signal.SIGTERM)
        status = self._running.wait(PATIENCE)
        self._reader.join()
        if status != 0:
            self.complaints.append(f"it ended with {status}")
