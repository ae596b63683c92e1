#!/usr/bin/env python3
"""Mixed requests of every kind. Compares each answer, and the daemon's resources at the end with those at half time:
see README.md.

    soak.py --bin FOLDER --root CHECKOUT (--minutes N | --requests N) [--few] [--seed N]
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import clients
import material
from serving import Daemon

SKIPPED = 77
IN_NAMESPACE = "RECORDFS_SOAK_IN_NAMESPACE"
# Allowed growth of used memory from half time to the end: each thread keeps the decoders of the codecs that it has
# used.
MORE_USED = 8 << 20
# Allowed growth of resident memory: the amount of freed memory that the daemon keeps (fusefs/main.cc).
MORE_RESIDENT = 32 << 20


def complaints(half_way, end, wrong, answers, log):
    if wrong:
        yield f"{wrong} wrong answers"
    if not answers:
        yield "no answers"
    if end.used > half_way.used + MORE_USED:
        yield "more memory is in use at the end"
    if end.resident > half_way.resident + MORE_RESIDENT:
        yield "more is resident at the end"
    if end.descriptors != half_way.descriptors:
        yield "other descriptors are open at the end"
    if end.threads != half_way.threads:
        yield "other threads run at the end"
    yield from (f"the daemon's log says: {line}" for line in log)


def work(requesters, daemon, wanted):
    """Runs until the time is over, or until the daemon has received the requested number of requests."""
    begun, before = time.monotonic(), daemon.requests()
    requesters.send("work")
    while True:
        time.sleep(min(1, wanted.seconds / 10) if wanted.seconds else 1)
        if wanted.seconds and time.monotonic() - begun > wanted.seconds:
            break
        if wanted.requests and daemon.requests() - before >= wanted.requests:
            break
    requesters.send("rest")
    return daemon.requests() - before, time.monotonic() - begun


def soak(folder, options):
    source = folder / "source"
    containers = material.make(source, options.bin, options.root, options.few)
    first, point = folder / "first", folder / "mnt"
    undisturbed = Daemon(options.bin, source, first, ["cache_size=256M"], ["-s"])
    requesters = clients.Clients(options.bin, first, point, folder / "expected", 6 if options.few else 12, options.seed)
    print(f"{requesters.paths} paths and {requesters.bytes} bytes read in advance", flush=True)
    known = material.check(containers, folder / "expected", options.bin)
    print(f"{known} of these files checked against recordfs cat, the writers' input, and the source", flush=True)
    undisturbed.end()
    # libfuse starts threads when all are busy. A short run does not reach the default number before its half time.
    daemon = Daemon(options.bin, source, point, ["cache_size=2M"] + (["threads=4"] if options.few else []))
    half = argparse.Namespace(seconds=options.minutes * 30, requests=options.requests // 2)
    held, requests, took = [], 0, 0
    for _ in range(2):
        done, seconds = work(requesters, daemon, half)
        requests, took = requests + done, took + seconds
        answers, wrong = requesters.send("visit")
        held.append(daemon.holdings())
    print(f"{daemon.cache}; {took:.0f} seconds, {requests / took:.0f} requests a second", flush=True)
    requesters.end()
    daemon.end()
    found = list(complaints(*held, wrong, answers, daemon.complaints))
    half_way, end = held
    print(f"soak: {requests} requests, {answers} answers checked, {wrong} wrong; half-way and at the end: {half_way.used >> 10} and "
          f"{end.used >> 10} KiB of memory in use, {half_way.resident >> 10} and {end.resident >> 10} KiB resident, "
          f"{half_way.descriptors} and {end.descriptors} descriptors, {half_way.threads} and {end.threads} threads", flush=True)
    for line in found:
        print(f"soak: {line}", file=sys.stderr)
    return 1 if found else 0


def parsed():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--few", action="store_true", help="only some files of each format")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.minutes and not options.requests:
        parser.error("--minutes or --requests")
    options.bin, options.root = options.bin.resolve(), options.root.resolve()
    return options


def main():
    options = parsed()
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or shutil.which("fusermount3") is None:
        print("SKIPPED: mounting is impossible here")
        return SKIPPED
    if os.geteuid() == 0 and IN_NAMESPACE not in os.environ:
        os.environ[IN_NAMESPACE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, "-B", *sys.argv])
    with tempfile.TemporaryDirectory(prefix="recordfs-soak-") as folder:
        folder = Path(os.path.realpath(folder))
        try:
            return soak(folder, options)
        finally:
            for name in ("first", "mnt"):
                if os.path.ismount(folder / name):
                    subprocess.run(["fusermount3", "-u", "-z", folder / name], check=False)


if __name__ == "__main__":
    sys.exit(main())
