#!/usr/bin/env python3
"""Reads a container from a web server as recordfs does, beside curl, rclone's mount and a local copy.

    scripts/bench --remote [--records N] [--runs N] [--seconds N] [--round-trip MILLISECONDS,...]
                           [--results tests/bench/RESULTS.md]

nginx serves the file on 127.0.0.1, also through a proxy that delays all bytes (tests/remote/delay.py). Its log counts
requests and bytes. Runs of all systems alternate, and medians are compared. Systems that are not installed are left out:
nginx and curl are required, rclone is not. The server and the proxy are processes of their own, each with a processor to
itself if the machine has four; with fewer, they slow down what is measured.
"""
import argparse
import contextlib
import ctypes
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / "suite"), str(HERE.parents[2] / "remote")]

import delay  # noqa: E402
import machine  # noqa: E402
import results  # noqa: E402

CONFIGURATION = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; events {{ }}
http {{ log_format sent '$status $body_bytes_sent'; access_log {folder}/access.log sent; sendfile on; autoindex on; {temporary}
  server {{ listen 127.0.0.1:{port}; root {root}; keepalive_requests 1000000; }} }}
"""
CONNECTIONS = 4, 16  # of curl; the first is the yardstick
PATIENCE = 30
SUBREAPER = 36  # of prctl(2)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Nginx:
    """Serves a folder while it is entered."""

    def __init__(self, folder, root):
        self.folder, self.port = folder, free_port()
        temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "conf").write_text(CONFIGURATION.format(folder=folder, port=self.port, root=root, temporary=temporary), encoding="utf-8")

    def __enter__(self):
        self.process = subprocess.Popen(["nginx", "-c", self.folder / "conf", "-e", self.folder / "error.log"], stderr=subprocess.DEVNULL)
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def counts(self):
        """Returns requests and bytes of bodies so far."""
        lines = (self.folder / "access.log").read_text(encoding="utf-8").splitlines()
        return len(lines), sum(int(line.split()[1]) for line in lines)


def wait_until(is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


@contextlib.contextmanager
def rclone(url, point):
    """Mounts the server's folder with rclone."""
    words = ["rclone", "mount", ":http:", point, "--http-url", url, "--read-only", "--config", "/dev/null"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: os.path.ismount(point))
            yield point
        finally:
            subprocess.run(["fusermount3", "-u", "-z", point], check=False)
            process.terminate()


class Bench:
    def __init__(self, options, folder):
        self.folder, self.options = folder, options
        self.root = folder / "root"
        self.root.mkdir()
        self.file = self.root / "lines.tfrecord"
        subprocess.run([options.bin / "make_data", "tfrecord", str(options.records), self.file], check=True, stdout=subprocess.DEVNULL)
        self.size = self.file.stat().st_size
        self.recordfs = str(options.bin / "recordfs")
        self.caches = folder / "caches"
        self.environment = {**os.environ, "LC_ALL": "C", "XDG_CACHE_HOME": str(self.caches), "HOME": str(folder)}

    def tasks(self, url, mounted):
        """Yields (task, system, command). The first system of a task is its yardstick."""
        sources = [("recordfs, URL", url, ["--no-cache"]), ("recordfs, file of rclone mount", mounted, []), ("recordfs, local copy", self.file, [])]
        sources = [one for one in sources if one[1]]
        for name, source, more in sources:
            yield "info", name, [self.recordfs, "info", *more, source]
        for name, source, more in sources:
            yield "one record at the beginning", name, [self.recordfs, "cat", *more, source, "100"]
        for connections in CONNECTIONS:
            yield "all bytes", f"curl, {connections} connections", self.parallel_curl(url, connections)
        yield "all bytes", "curl, 1 connection", ["curl", "-s", "--fail", "-o", "/dev/null", url]
        for command in (["cat"], ["grep", "-c", "no such text"], ["verify"]):
            yield "all bytes", f"recordfs {command[0]}, URL", [self.recordfs, command[0], "--no-cache", *command[1:], url]
        yield "all bytes", "recordfs cat, URL, writing the disk cache", [self.recordfs, "cat", url]
        for name, source, _ in sources[1:]:
            yield "all bytes", name.replace("recordfs", "recordfs cat"), [self.recordfs, "cat", source]
        target = self.folder / "copies"
        yield "copy", "curl", ["curl", "-s", "--fail", "-o", target / "x", url]
        yield "copy", "recordfs cp --raw", [self.recordfs, "cp", "--raw", "--no-cache", url, ":", target]

    def parallel_curl(self, url, connections):
        step = -(-self.size // connections)
        words = ["curl", "-s", "--fail", "-Z", "--parallel-immediate"]
        for begin in range(0, self.size, step):
            words += ["-r", f"{begin}-{min(self.size, begin + step) - 1}", "-o", "/dev/null", url, "--next", "-s"]
        return words[:-2]

    def measured(self, nginx, command):
        shutil.rmtree(self.caches, ignore_errors=True)
        shutil.rmtree(self.folder / "copies", ignore_errors=True)
        (self.folder / "copies").mkdir()
        before, used, begun = nginx.counts(), resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=self.environment, check=False)
        wall = time.perf_counter() - begun
        if done.returncode not in (0, 1 if "grep" in command else 0, 5 if "verify" in command else 0):
            raise RuntimeError(f"{command}: {done.returncode}")
        time.sleep(0.3)  # the fetcher ends, and nginx writes its log
        self.reap()
        after, left = nginx.counts(), resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = left.ru_utime + left.ru_stime - used.ru_utime - used.ru_stime
        return wall, processor, after[0] - before[0], (after[1] - before[1]) / self.size

    def reap(self):
        """Waits for fetchers, which are children of this process once their own parent has ended."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    def rows(self, nginx, round_trip, seconds):
        """Returns the rows of a round trip. Begins no further run of all tasks that would probably exceed `seconds`."""
        with contextlib.ExitStack() as stack:
            port = stack.enter_context(delay.Delayed(("127.0.0.1", nginx.port), round_trip / 1000)).port if round_trip else nginx.port
            url = f"http://127.0.0.1:{port}/{self.file.name}"
            mounted = None
            if shutil.which("rclone"):
                point = self.folder / f"rclone-{round_trip}"
                point.mkdir()
                mounted = stack.enter_context(rclone(url.rpartition("/")[0] + "/", point)) / self.file.name
            tasks = list(self.tasks(url, mounted))
            taken = [[] for _ in tasks]
            begun = time.monotonic()
            for run in range(self.options.runs):
                if (time.monotonic() - begun) * (run + 1) > seconds * run > 0:
                    break
                for one, (_, _, command) in zip(taken, tasks):
                    one.append(self.measured(nginx, command))
        yardsticks = {}
        for runs, (task, system, _) in zip(taken, tasks):
            yardsticks.setdefault(task, [run[0] for run in runs])
            ratio = statistics.median(base / run[0] for base, run in zip(yardsticks[task], runs))
            wall, processor, requests, fetched = (statistics.median(column) for column in zip(*runs))
            yield [task, f"{round_trip:g} ms", system, f"{wall:.3f} s", f"{processor:.2f} s", f"{requests:.0f}", f"{fetched:.3f}", f"{ratio:.2f}"]


HEADS = ["task", "round trip", "system", "time", "processor", "requests", "bytes / size", "speed / first row"]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench --remote", description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--bin", type=lambda text: Path(text).resolve(), required=True, help="folder of the built programs")
    parser.add_argument("--records", type=int, default=1_000_000, help="log lines of about 600 bytes (default: 1,000,000)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=300, help="after which no further run begins (default: 300)")
    parser.add_argument("--round-trip", default="0,50", help="milliseconds, one or several (default: 0,50)")
    parser.add_argument("--results", type=Path, metavar="PAGE", help="write the table of this page")
    options = parser.parse_args()
    if missing := [name for name in ("nginx", "curl") if shutil.which(name) is None]:
        print(f"SKIPPED: {' and '.join(missing)} not installed")
        return 77
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="recordfs-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # nginx may have another user
        bench = Bench(options, folder)
        with Nginx(folder, bench.root) as nginx:
            round_trips = [float(text) for text in options.round_trip.split(",")]
            rows = [row for one in round_trips for row in bench.rows(nginx, one, options.seconds / len(round_trips))]
    page = results.markdown(HEADS, rows)
    print(page)
    if options.results:
        described = machine.described(str(options.bin / "recordfs"))
        heading = f"**Machine:** processor {described['processor']}; kernel {described['kernel']}. {bench.size / 1e6:.0f} MB, at most {options.runs} runs."
        text = options.results.read_text(encoding="utf-8")
        options.results.write_text(results.replaced(text, "remote", f"{heading}\n\n{page}"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
