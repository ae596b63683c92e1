"""Mounting for tests: mount, unmount, wait, read the log. All knowledge of how recordfs is started is here.

A test file calls main(); its cases derive from Case. As root, a file runs in mount and process namespaces of its own, with a
/dev in which every user can open /dev/fuse, and its files are on a tmpfs. When the file ends or is killed, all its mounts
and processes end too. watchdog.py ends a file that takes too long.

    x_test.py --bin FOLDER --root CHECKOUT [unittest's options]     FOLDER: the build folder
"""
import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

# Some of these are used only by the test files.
import built
import watchdog
from built import (COMPLAINT, PATIENCE, STORAGE, copy_of, expectation, is_source, place, program, sample, some_of, stored, stream_digest,
                   wait_for, with_bit_flipped)

SKIPPED = 77
NOBODY = 65534
IN_NAMESPACE = "RECORDFS_TEST_IN_NAMESPACE"
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_MOVE = 1, 2, 4, 32, 8192  # mount(2)
NO_SYSTEM_LOG = "recordfs: warning: no system log (/dev/log), so the daemon's messages are lost (try: -o log=FILE)\n"
SANITIZERS = ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")


def mounts():
    """Returns {mount point: (type, source, [options])} of this namespace; the topmost mount of each mount point."""
    found = {}
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        source, point, kind, options = line.split()[:4]
        found[_unescaped(point)] = (kind, _unescaped(source), options.split(","))
    return found


def _unescaped(field):
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)


def as_user(user):
    """Returns arguments of subprocess that run the child as `user`."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def run(*command, user=None, **options):
    """Runs a command to its end, with its output as text. Does not raise on a nonzero status."""
    options.setdefault("timeout", PATIENCE)
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="backslashreplace", check=False, **as_user(user), **options)
    if not is_root():  # the machine may have no system log
        done.stderr = done.stderr.replace(NO_SYSTEM_LOG, "")
    return done


@contextlib.contextmanager
def started(*command, user=None, **options):
    """A command that runs until the end of the block; communicate() returns its output."""
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


def _is_unmount_guard(entry):
    return (entry / "comm").read_text() == "recordfs-guard\n"


def _is_child(entry):
    """Whether a daemon has forked this process: its unmount guard, or libfuse's call of mount(8) before it is executed."""
    parent = entry.parent / (entry / "stat").read_text().rpartition(")")[2].split()[1]
    return (parent / "cmdline").read_bytes() == (entry / "cmdline").read_bytes()


def unmount_guards(point):
    """Ids of the processes that unmount `point` when its daemon ends, and know which mount that is."""
    return _running(lambda entry, words: os.fsencode(point) in words and _is_unmount_guard(entry))


def processes(point):
    """Ids of the daemon and the unmount guard of `point`. One look: a guard that takes its name between two would escape both."""
    return _running(lambda _, words: os.fsencode(point) in words)


def daemons(point):
    """Ids of the running recordfs programs that serve `point`."""
    return _running(lambda entry, words: os.fsencode(point) in words and not (_is_unmount_guard(entry) or _is_child(entry)))


def open_files(pid, folder):
    """Returns how many descriptors of a process are open on files below `folder`, without those that it closes meanwhile."""
    count = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(descriptor).startswith(f"{folder}/")
    return count


class Mount:
    """recordfs in the foreground as a child of the test, which can see its exit status and its log."""

    def __init__(self, sources, point, log, options=(), flags=("-f",), user=None, environment=None):
        self.point = Path(point)
        self._log = Path(log)
        sources = [str(stored(source) if is_source(source) else source) for source in sources]
        command = [program("recordfs"), *sources, str(point), *flags]
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
        """Returns the first line that matches `pattern`."""
        return wait_for(lambda: next((line for line in self.log().splitlines() if re.search(pattern, line)), None),
                        f"a line in the log with {pattern}, which is: {self.log()}")

    def unmount(self):
        """Unmounts as the mount's user, and returns the daemon's exit status.

        A program that another thread has just started holds the files that are open here until its exec.
        """
        end = time.monotonic() + 10
        while (done := run("fusermount3", "-u", self.point, user=self._user)).returncode != 0:
            if "busy" not in done.stderr or time.monotonic() > end:
                raise AssertionError(done.stderr)
            time.sleep(0.05)
        return self.wait()

    def wait(self):
        """Returns the exit status of a daemon that is about to end."""
        return self.daemon.wait(PATIENCE)

    def send(self, number):
        self.daemon.send_signal(number)

    def abandon(self):
        """Unmounts and ends what a case has left."""
        if self.is_mounted():
            run("fusermount3", "-u", "-z", self.point)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.daemon.wait(10)
        if self.daemon.poll() is None:
            self.daemon.kill()
            self.daemon.wait(10)


class Case(unittest.TestCase):
    """A case with a new folder and with mounts that end with it."""

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
        """Enters a context until the end of the case."""
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        return stack.enter_context(context)

    def _clear(self):
        for point in sorted(mounts(), reverse=True):
            if point.startswith(f"{self.folder}/"):
                run("fusermount3", "-u", "-z", point)
        # A daemon still removes the mount point that it has created, which would race with the removal of the folder.
        ours = os.fsencode(self.folder) + b"/caches/"
        wait_for(lambda: not _running(lambda entry, _: ours in (entry / "environ").read_bytes()), "the daemons' end", 15)
        complaints = [path.read_text(errors="replace") for path in self.reports.iterdir()]
        shutil.rmtree(self.folder)
        self.assertEqual(complaints, [], "sanitizer reports")

    def environment(self, user=None):
        """Puts sanitizer reports and saved indexes into the case's folder. A background daemon has no stderr to report to."""
        changed = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "caches" / str(user)))
        for name in SANITIZERS:
            changed[name] = ":".join(filter(None, [os.environ.get(name), f"log_path={self.reports}/report"]))
        return changed

    def new_point(self, user=None):
        """Creates an empty directory that belongs to the user."""
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
        """Runs recordfs as a shell would, until it ends or goes to the background."""
        return run(program("recordfs"), *arguments, user=user, env=self.environment(user), **options)

    def copy(self, name, to=None):
        """Copies a sample of tests/corpus into the case's folder."""
        return copy_of(name, self.folder, to)

    def assert_fails_with(self, number, action, *arguments):
        with self.assertRaises(OSError) as raised:
            action(*arguments)
        self.assertEqual(raised.exception.errno, number, os.strerror(raised.exception.errno))


class ConfinedCase(Case):
    """A case whose daemons are confined even under sanitizers."""

    def environment(self, user=None):
        changed = super().environment(user)
        # LeakSanitizer stops all threads from another process, which a confined program cannot start.
        changed["ASAN_OPTIONS"] += ":detect_leaks=0"
        return changed


def remove_system_log(case):
    """Removes /dev/log until the end of the case."""
    os.rename("/dev/log", "/dev/log.other")
    case.addCleanup(os.rename, "/dev/log.other", "/dev/log")


def enable_user_allow_other(case):
    """Lets ordinary users mount with allow_other and allow_root until the end of the case."""
    allowed = case.folder / "fuse.conf"
    allowed.write_text("user_allow_other\n", encoding="utf-8")
    case.assertEqual(run("mount", "--bind", allowed, "/etc/fuse.conf").returncode, 0)
    case.addCleanup(run, "umount", "/etc/fuse.conf")


def make_container(folder, records, form="riegeli-zstd"):
    """Writes a container of log lines with make_data. Returns (path, [records])."""
    suffix = ".log" if form == "leveldb" else ".riegeli"
    target = Path(folder) / f"made-{records}{suffix}"
    done = subprocess.run([program("make_data"), form, str(records), str(target), "--print-records"],
                          stdout=subprocess.PIPE, check=True, timeout=10 * PATIENCE)
    return target, done.stdout.split(b"\n")[:-1]


def mount2(source, point, kind, flags, data=""):
    """Calls mount(2); mount(8) uses newer system calls."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(os.fsencode(source), os.fsencode(point), kind.encode(), ctypes.c_ulong(flags), data.encode()) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(point))


def drop_nodes(point):
    """Makes the kernel forget all unused nodes of this mount."""
    mount2("none", point, "fuse", MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def why_not():
    """Returns why nothing can be mounted here; empty if mounting works."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "cannot open /dev/fuse"
    if shutil.which("fusermount3") is None:
        return "fusermount3 is not installed"
    return ""


def is_root():
    return os.geteuid() == 0


only_root = unittest.skipUnless(is_root(), "needs root")


def _enter_namespaces():
    """Restarts this program as the first process of new namespaces. Returns only inside them."""
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
    """Makes / the root of the mount namespace. In a chroot they differ, and `mount -N` and nsenter would use the other."""
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
    """Binds a folder of the command line below /dev if ordinary users cannot reach it, as in /root."""
    at = sys.argv.index(option) + 1
    folder = Path(sys.argv[at]).resolve()
    is_hidden = folder.is_relative_to("/dev")  # as when one test file starts another
    if is_hidden or run("test", "-r", folder, "-a", "-x", folder, user=NOBODY).returncode != 0:
        name = option.strip("-")
        (devices / name).mkdir()
        subprocess.run(["mount", "--bind", folder, devices / name], check=True)
        sys.argv[at] = f"/dev/{name}"


def _make_devices(folder):
    """Creates a /dev in which every user can open /dev/fuse, and in which a test may create /dev/log."""
    for name, major, minor in [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("fuse", 10, 229)]:
        os.mknod(folder / name, 0o20666, os.makedev(major, minor))
        os.chmod(folder / name, 0o666)
    (folder / "fd").symlink_to("/proc/self/fd")
    (folder / "shm").mkdir()


def _start_system_log():
    """Serves /dev/log and drops all messages. Without it, background daemons would print a warning."""
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
    # Creating files on ext4 is slow soon after others were deleted, which was half of the time of some tests.
    watchdog.supervise(in_memory=is_root())
    if is_root():
        _start_system_log()
    built.main()
