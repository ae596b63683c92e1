"""Counts the system calls of a command, with strace or perf trace if they are installed and permitted."""
import re
import shutil
import subprocess
import tempfile

from processes import checked

# A row of strace: % time, seconds, microseconds per call, calls, errors if any, name. The last row is the total.
_STRACE = re.compile(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", re.MULTILINE)
# A row of perf trace, which has a table for each thread: name, calls, errors, times.
_PERF = re.compile(r"^ +(\w+) +(\d+) +\d+ +\d+\.\d+", re.MULTILINE)


def of_strace(summary):
    """Returns (name, calls) of each system call."""
    return [(name, int(calls)) for calls, name in _STRACE.findall(summary) if name != "total"]


def of_perf(summary):
    """Returns (name, calls), a name once for each thread."""
    return [(name, int(calls)) for name, calls in _PERF.findall(summary)]


TOOLS = ((["strace", "-f", "-c", "-o"], of_strace), (["perf", "trace", "-s", "-o"], of_perf))


def counted(command, without=()):
    """Returns the number of system calls of all its threads, those named in `without` not counted; None if they cannot
    be counted."""
    for tool, parse in TOOLS:
        if shutil.which(tool[0]):
            with tempfile.NamedTemporaryFile(mode="r") as summary:
                try:
                    checked([*tool, summary.name, *command], stderr=subprocess.DEVNULL)
                except subprocess.CalledProcessError:
                    continue  # not permitted
                return sum(calls for name, calls in parse(summary.read()) if name not in without)
    return None
