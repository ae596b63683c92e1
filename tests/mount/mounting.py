"""The verbs of the tests that mount: mount, unmount, wait, log. The only place that knows how recordfs is started.

A test file calls main(); its cases derive from Case. Run by root, a file runs in namespaces of its own for mounts and
processes, with a /dev in which every user can open /dev/fuse. When the file ends or is killed, all its mounts and
processes end too.

A file that takes too long is ended by watchdog.py.

    x_test.py --bin FOLDER --root CHECKOUT [unittest's options]     FOLDER holds the programs that were built
"""
import contextlib
import ctypes
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

# Some of these are for the tests alone, which find all verbs here.
import built
import watchdog
from built import COMPLAINT, PATIENCE, copy_of, expectation, place, program, sample, some_of, wait_for, with_bit_flipped

SKIPPED = 77
NOBODY = 65534
IN_NAMESPACE = "RECORDFS_TEST_IN_NAMESPACE"
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_MOVE = 1, 2, 4, 32, 8192  # mount(2)
NO_SYSTEM_LOG = "recordfs: warning: no system log (/dev/log), so the daemon's messages are lost (try: -o log=FILE)\n"
SANITIZERS = ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")


def stream_digest(records):
    """SHA-256 over each record's length, 8 bytes little-endian, and its bytes: `stream_sha256` of an expectation."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(len(record).to_bytes(8, "little"))
        digest.update(record)
    return digest.hexdigest()


def mounts():
    """{mount point: (type, source, [options])} of this namespace, the topmost of each."""
    found = {}
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        source, point, kind, options = line.split()[:4]
        found[_plain(point)] = (kind, _plain(source), options.split(","))
    return found


def _plain(field):
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)


def as_user(user):
    """Arguments for subprocess that make the child an ordinary user."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def run(*command, user=None, **options):
    """A finished command with its output as text; never raises on a status."""
    options.setdefault("timeout", PATIENCE)
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="backslashreplace", check=False, **as_user(user), **options)
    if not is_root():  # and the machine may have no system log
        done.stderr = done.stderr.replace(NO_SYSTEM_LOG, "")
    return done


@contextlib.contextmanager
def started(*command, user=None, **options):
    """A command that runs meanwhile, its output kept for communicate(); it does not outlive the block."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    with subprocess.Popen([str(word) for word in command], **as_user(user), **options) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                running.kill()


def _running(tells):
    """Ids of the running recordfs programs of whose entry in /proc and words `tells` is true."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"recordfs") and tells(entry, words):
                found.append(int(entry.name))
    return found


def _is_keeper(entry):
    """By its name, or, before it has that, as the daemon's child."""
    if (entry / "comm").read_text() == "recordfs-keeper\n":
        return True
    parent = entry.parent / (entry / "stat").read_text().rpartition(")")[2].split()[1]
    return (parent / "cmdline").read_bytes() == (entry / "cmdline").read_bytes()


def keepers(point):
    """Ids of the processes that unmount `point` when its daemon ends."""
    return _running(lambda entry, words: os.fsencode(point) in words and _is_keeper(entry))


def daemons(point):
    """Ids of the running recordfs programs that serve `point`."""
    return _running(lambda entry, words: os.fsencode(point) in words and not _is_keeper(entry))


def open_files(pid, folder):
    """Number of descriptors that a process has open on files below `folder`. Descriptors that it closes meanwhile do not count."""
    count = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(descriptor).startswith(f"{folder}/")
    return count


class Mount:
    """A recordfs that runs in the foreground as a child of the test, so that its end and its log can be seen."""

    def __init__(self, sources, point, log, options=(), flags=("-f",), user=None, environment=None):
        self.point = Path(point)
        self._log = Path(log)
        command = [program("recordfs"), *map(str, sources), str(point), *flags]
        for option in options:
            command += ["-o", option]
        with self._log.open("wb") as out:
            self.daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                           env=environment, **as_user(user))
        self._user = user
        wait_for(lambda: self.is_mounted() or self.daemon.poll() is not None, f"a mount on {point}")
        if not self.is_mounted():
            raise AssertionError(f"recordfs ended with {self.daemon.returncode}: {self.log()}")

    def __truediv__(self, name):
        return self.point / name

    def is_mounted(self):
        return mounts().get(str(self.point), ("",))[0].startswith("fuse")

    def log(self):
        return self._log.read_text(encoding="utf-8", errors="backslashreplace")

    def wait_for_log(self, pattern):
        """The first line in which `pattern` is found."""
        return wait_for(lambda: next((line for line in self.log().splitlines() if re.search(pattern, line)), None),
                        f"a line in the log with {pattern}, which is: {self.log()}")

    def unmount(self):
        """Unmounts as its user would, and returns the daemon's exit status."""
        done = run("fusermount3", "-u", self.point, user=self._user)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return self.wait()

    def wait(self):
        """The exit status of a daemon that is about to end."""
        return self.daemon.wait(PATIENCE)

    def send(self, number):
        self.daemon.send_signal(number)

    def abandon(self):
        """After a case: whatever is left goes."""
        if self.is_mounted():
            run("fusermount3", "-u", "-z", self.point)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.daemon.wait(10)
        if self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait(10)


class Case(unittest.TestCase):
    """A case with a folder of its own and mounts that go with it."""

    longMessage = True
    maxDiff = 4000

    def setUp(self):
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="recordfs-test-")))
        self.folder.chmod(0o755)
        self.reports = self.folder / "reports"
        self.reports.mkdir()
        self.reports.chmod(0o777)
        (self.folder / "caches").mkdir()
        (self.folder / "caches").chmod(0o777)
        self._count = 0
        self.addCleanup(self._clear)

    def enter(self, context):
        """Enters a context that is left after the case."""
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(context)

    def _clear(self):
        for point in sorted(mounts(), reverse=True):
            if point.startswith(f"{self.folder}/"):
                run("fusermount3", "-u", "-z", point)
        # Each takes away the mount point that it has made, and would meet the removal of the folder.
        ours = os.fsencode(self.folder) + b"/caches/"
        wait_for(lambda: not _running(lambda entry, _: ours in (entry / "environ").read_bytes()), "the daemons' end", 15)
        complaints = [path.read_text(errors="replace") for path in self.reports.iterdir()]
        shutil.rmtree(self.folder)
        self.assertEqual(complaints, [], "a sanitizer has reported")

    def environment(self, user=None):
        """With the sanitizers' reports in a folder of the case, as a daemon in the background has no stderr, and with
        what is saved for the next mount in a folder of the case too, one for each user."""
        changed = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "caches" / str(user)))
        for name in SANITIZERS:
            changed[name] = ":".join(filter(None, [os.environ.get(name), f"log_path={self.reports}/report"]))
        return changed

    def new_point(self, user=None):
        """An empty directory that belongs to the user."""
        self._count += 1
        point = self.folder / f"mnt{self._count}"
        point.mkdir()
        if user is not None:
            os.chown(point, user, user)
        return point

    def mount(self, *sources, options=(), flags=("-f",), user=None, point=None):
        point = point or self.new_point(user)
        mounted = Mount(sources, point, self.folder / f"log{self._count}", options, flags, user, self.environment(user))
        self.addCleanup(self._end, mounted)
        return mounted

    def _end(self, mounted):
        mounted.abandon()
        self.assertIsNone(COMPLAINT.search(mounted.log()), mounted.log())
        self.assertNotIn(mounted.daemon.returncode, (66, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS), mounted.log())

    def recordfs(self, *arguments, user=None, **options):
        """recordfs as a shell would run it: finished, or gone to the background."""
        return run(program("recordfs"), *arguments, user=user, env=self.environment(user), **options)

    def copy(self, name, to=None):
        """A sample of tests/corpus, to be changed at will."""
        return copy_of(name, self.folder, to)

    def assert_fails_with(self, number, action, *arguments):
        with self.assertRaises(OSError) as raised:
            action(*arguments)
        self.assertEqual(raised.exception.errno, number, os.strerror(raised.exception.errno))


class ConfinedCase(Case):
    """One whose daemons are confined in builds with sanitizers too."""

    def environment(self, user=None):
        changed = super().environment(user)
        # LeakSanitizer stops all threads from a process of its own, which a confined program can't start.
        changed["ASAN_OPTIONS"] += ":detect_leaks=0"
        return changed


def take_system_log_away(case):
    """/dev/log is free for as long as the case."""
    os.rename("/dev/log", "/dev/log.other")
    case.addCleanup(os.rename, "/dev/log.other", "/dev/log")


def let_users_ask_for_others(case):
    """Ordinary users may mount with allow_other and allow_root, for as long as the case."""
    allowed = case.folder / "fuse.conf"
    allowed.write_text("user_allow_other\n", encoding="utf-8")
    case.assertEqual(run("mount", "--bind", allowed, "/etc/fuse.conf").returncode, 0)
    case.addCleanup(run, "umount", "/etc/fuse.conf")


def made(folder, records, form="riegeli-zstd"):
    """(file, [its records]): a container of so many log lines, written by make_data, which prints them too."""
    suffix = ".log" if form == "leveldb" else ".riegeli"
    target = Path(folder) / f"made-{records}{suffix}"
    done = subprocess.run([program("make_data"), form, str(records), str(target), "--print-records"],
                          stdout=subprocess.PIPE, check=True, timeout=10 * PATIENCE)
    return target, done.stdout.split(b"\n")[:-1]


def mount2(source, point, kind, flags, data=""):
    """mount(2) itself, as mount(8) uses newer system calls."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(os.fsencode(source), os.fsencode(point), kind.encode(), ctypes.c_ulong(flags), data.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(point))


def drop_nodes(point):
    """The kernel forgets all nodes of this mount that nobody uses, and keeps those of other mounts."""
    mount2("none", point, "fuse", MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def why_not():
    """Why nothing can be mounted here; empty when it can."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse is not there or not ours"
    if shutil.which("fusermount3") is None:
        return "there is no fusermount3"
    return ""


def is_root():
    return os.geteuid() == 0


# For cases that root alone can run; who else runs them reads so.
only_root = unittest.skipUnless(is_root(), "only root can do this")


def _enter_namespaces():
    """Starts this program anew in namespaces of its own, as the first process there. Returns only inside them."""
    if IN_NAMESPACE not in os.environ:
        os.environ[IN_NAMESPACE] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
                              "--mount-proc", sys.executable, "-B", *sys.argv])
    _enter_own_root()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
        _make_devices(Path(folder))
        for option in ("--bin", "--root"):
            _make_reachable(option, Path(folder))
        subprocess.run(["mount", "--rbind", folder, "/dev"], check=True)
        subprocess.run(["umount", "--lazy", folder], check=True)


def _enter_own_root():
    """Makes / the root of the mount namespace. In a chroot it is another one, to which `mount -N` and nsenter would go."""
    working_folder = os.getcwd()
    here = os.open("/", os.O_RDONLY)
    namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(namespace, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.close(namespace)
    if not os.path.samestat(os.fstat(here), os.stat("/")):
        os.fchdir(here)
        mount2(".", "/", "", MS_MOVE)
        os.chroot(".")
    os.close(here)
    os.chdir(working_folder)


def _make_reachable(option, devices):
    """Ordinary users reach a folder of the command line below /dev, if they don't reach it where it is (in /root)."""
    at = sys.argv.index(option) + 1
    folder = Path(sys.argv[at]).resolve()
    is_hidden = folder.is_relative_to("/dev")  # by a file that was started by another one
    if is_hidden or run("test", "-r", folder, "-a", "-x", folder, user=NOBODY).returncode != 0:
        name = option.strip("-")
        (devices / name).mkdir()
        subprocess.run(["mount", "--bind", folder, devices / name], check=True)
        sys.argv[at] = f"/dev/{name}"


def _make_devices(folder):
    """A /dev in which /dev/fuse is everybody's, and to which a test may add /dev/log."""
    for name, major, minor in [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("fuse", 10, 229)]:
        os.mknod(folder / name, 0o20666, os.makedev(major, minor))
        os.chmod(folder / name, 0o666)
    (folder / "fd").symlink_to("/proc/self/fd")
    (folder / "shm").mkdir()


def _start_system_log():
    """A /dev/log that keeps nothing, so that daemons in the background do not warn that there is none."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind("/dev/log")
    os.chmod("/dev/log", 0o666)

    def drop_all():
        while True:
            listening.recv(65536)
    threading.Thread(target=drop_all, daemon=True).start()


def main():
    if reason := why_not():
        print(f"SKIPPED: nothing was mounted: {reason}")
        sys.exit(SKIPPED)
    if is_root():
        _enter_namespaces()
    watchdog.supervise()
    if is_root():
        _start_system_log()
    built.main()
