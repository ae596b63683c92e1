"""Ends a test file that takes too long: aborts the FUSE connections of its mounts, then kills the processes it started.

SIGKILL may not end a process that waits for a mount without replies. Aborting the mount's connection does.
"""
import contextlib
import ctypes
import faulthandler
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = float(os.environ.get("RECORDFS_TEST_DEADLINE", "540"))  # less than the limit of CTest in scripts/test
GRACE = 20  # seconds for the tests to end after their mounts were aborted
# prctl(2)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def supervise(in_memory=False):
    """Returns in a child that runs the tests. The calling process waits for the child and exits with its status. With
    `in_memory`, the tests' files are on a tmpfs; needs root in a mount namespace of its own."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="recordfs-tests-"))
    os.chmod(folder, 0o755)
    if in_memory:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", folder], check=True)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        tempfile.tempdir = folder
        faulthandler.dump_traceback_later(SECONDS)
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    status = _watch(child, folder)
    if in_memory:
        subprocess.run(["umount", "--lazy", folder], check=True)
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(status)


def _watch(child, folder):
    """Returns the child's exit status, or 1 if it took too long."""
    end = time.monotonic() + SECONDS + 1  # the child prints its stacks first
    status = _wait_for(child, end)
    if status is None:
        print(f"watchdog: {sys.argv[0]} has not ended within {SECONDS:g} seconds", file=sys.stderr, flush=True)
        _abort_connections(folder)
        _wait_for(child, time.monotonic() + GRACE)
        _kill_descendants()
        return 1
    return 1 if status < 0 else status


def _wait_for(child, end):
    """Returns the child's exit status, or None at the time `end`. Reaps orphans, which become children of this process."""
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == child:
            return os.waitstatus_to_exitcode(status)
        left = end - time.monotonic()
        if left <= 0:
            return None
        if ended == 0:
            signal.sigtimedwait({signal.SIGCHLD}, min(left, 1))


def connections(folder):
    """Returns {connection number: mount point} of the FUSE mounts below a folder. Sends no request, so it cannot block."""
    found = {}
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields, _, kind = line.partition(" - ")
        device, _, point = fields.split()[2:5]
        if re.match(r"fuse(\.|blk|$)", kind.split()[0]) and point.startswith(f"{folder}/"):
            found[int(device.split(":")[1])] = point
    return found


def _abort_connections(folder):
    control = _control(folder)
    for number, point in connections(folder).items():
        try:
            (control / str(number) / "abort").write_text("1", encoding="ascii")
            print(f"watchdog: aborted the connection of {point}", file=sys.stderr, flush=True)
        except OSError as failed:
            print(f"watchdog: {point}: cannot abort the connection: {failed.strerror}", file=sys.stderr, flush=True)


def _control(folder):
    """Returns the directory in which the kernel has a directory per connection."""
    usual = Path("/sys/fs/fuse/connections")
    if os.geteuid() != 0:
        return usual
    own = Path(folder) / "connections"
    own.mkdir()
    mounted = subprocess.run(["mount", "-t", "fusectl", "none", own], check=False).returncode == 0
    return own if mounted else usual


def _kill_descendants():
    """Kills all at once: killing a file system frees the processes that wait for it."""
    end = time.monotonic() + GRACE
    while (left := _descendants()) and time.monotonic() < end:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)
        while _reap():
            pass
    for process in left:
        print(f"watchdog: process {process} cannot be killed", file=sys.stderr, flush=True)


def _reap():
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def _descendants():
    """Returns the ids of all processes below this one. Orphans become its children."""
    children = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has ended
            parent = int(entry.read_text(encoding="utf-8").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.parent.name))
    found = []
    unvisited = [os.getpid()]
    while unvisited:
        below = children.get(unvisited.pop(), [])
        found += below
        unvisited += below
    return found


def _prctl(option, value):
    if ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(f"prctl({option})")
