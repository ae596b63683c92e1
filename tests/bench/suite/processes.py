"""Timed commands, and mounts as a user would start them, on one processor or all."""
import contextlib
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

ALL_PROCESSORS = ()
ONE_PROCESSOR = ("taskset", "-c", "0")
SECONDS_TO_END = 120
NO_CHECKSUMS = 5
ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


def check_status(status, words):
    """`verify` ends with NO_CHECKSUMS after reading a file whose records have none."""
    if status != 0 and not (status == NO_CHECKSUMS and "verify" in words):
        raise subprocess.CalledProcessError(status, words)


def checked(command, **options):
    options.setdefault("stdout", subprocess.DEVNULL)
    words = [str(word) for word in command]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, env=ENVIRONMENT, check=False, **options)
    check_status(done.returncode, words)
    return done


def seconds_and_lines(command):
    """(seconds, lines of output) of a command. The output goes to a file, so that no reader runs concurrently."""
    with tempfile.TemporaryFile() as out:
        begun = time.perf_counter()
        checked(command, stdout=out)
        taken = time.perf_counter() - begun
        out.seek(0)
        return taken, sum(block.count(b"\n") for block in iter(lambda: out.read(1 << 20), b""))


def seconds(command, **options):
    begun = time.perf_counter()
    checked(command, **options)
    return time.perf_counter() - begun


def timed(command, **options):
    """{"wall": seconds, "processor": seconds of all its threads}"""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    checked(command, **options)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"wall": wall, "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def io_of(process):
    """{"rchar": bytes read, "wchar": bytes written, ...} of a process so far, from the page cache or the disk."""
    text = Path(f"/proc/{process}/io").read_text(encoding="ascii")
    return {name: int(number) for name, number in re.findall(r"^(\w+): (\d+)$", text, re.MULTILINE)}


def bytes_of(command):
    """Returns io_of() a command at its end."""
    words = [str(word) for word in command]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=ENVIRONMENT) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        counts = io_of(process.pid)
    check_status(process.returncode, words)
    return counts


def output_of(command, **options):
    return checked(command, stdout=subprocess.PIPE, **options).stdout.decode()


class Actions:
    """The verbs of bench_actions; each returns the result as a dictionary."""

    def __init__(self, settings, processors=ONE_PROCESSOR):
        self._command = [*processors, settings.program("bench_actions")]

    def __call__(self, verb, *words, **options):
        answer = json.loads(output_of([*self._command, verb, *words], **options))
        if answer["errors"]:
            raise RuntimeError(f"{verb} {words[0]}: {answer['errors']} of {answer['n']} failed")
        return answer


def daemons(point):
    """Yields the ids of the processes whose command line names `point` as mount point."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(point) in (entry / "cmdline").read_bytes().split(b"\0"):
                yield int(entry.name)


class Mounted:
    """A mount in the background. At exit it is unmounted and its daemon has ended."""

    def __init__(self, command, point, processors=ONE_PROCESSOR):
        self.point = Path(point)
        self._start = [*processors, *command, self.point]

    def __enter__(self):
        checked(self._start)
        return self

    def __exit__(self, *failure):
        unmount(self.point)

    def __truediv__(self, name):
        return self.point / name

    def daemon(self):
        """Returns the id of the process that serves the mount. That which unmounts in the end was started by it."""
        return min(daemons(self.point))

    def peak_memory(self):
        """Returns bytes."""
        status = Path(f"/proc/{self.daemon()}/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE).group(1))


def unmount(point):
    checked(["fusermount3", "-u", point])
    end = time.monotonic() + SECONDS_TO_END
    while any(daemons(point)):
        if time.monotonic() > end:
            raise TimeoutError(f"the daemon of {point} does not end")
        time.sleep(0.01)


def kernel_memory():
    """Returns the bytes of the kernel's own memory: names, inodes, page tables."""
    numbers = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
    return 1024 * sum(int(numbers[name].split()[0]) for name in ("Slab", "KernelStack", "PageTables"))
