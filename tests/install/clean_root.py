#!/usr/bin/env python3
"""Tests the .debs in a bare Debian: apt-get installs them, a user, mount(8) and Python use them, and dpkg removes them.

    clean_root.py --packages PROGRAM PYTHON LIBRARY DEVELOPMENT --keep FOLDER --checkout FOLDER

debootstrap makes the bare system from the sources of this system's apt. It is kept in the folder --keep for a day. Each run
works on a copy, in new namespaces. Exit status: 0 success, 1 failure, 77 the test cannot run here.
"""
import argparse
import contextlib
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import bare_system

SKIPPED = 77
PATIENCE = 120  # seconds until a command counts as stuck
USER = "someone"
HOME = f"/home/{USER}"
SAMPLE = "simple_zstd9.riegeli"
MESSAGES = "metadata_full_transposed.riegeli"
RECORDS = 500
MESSAGE_0 = b"7991895315470554"  # its field u64
PRINT_42 = "import recordfs, sys; sys.stdout.buffer.write(recordfs.open(sys.argv[1])[42])"
RECORD_42 = b"000042 bucket position the two buffer chunk state block position"
# Written by any package that is installed or removed.
VOLATILE = ("/proc", "/dev", "/tmp", "/root", "/home", "/run", "/var/log", "/var/cache", "/var/lib/apt",
            "/var/lib/dpkg")


class Wrong(Exception):
    """A failed check."""


def check(condition, message):
    if not condition:
        raise Wrong(message)


class Root:
    """A system in a folder."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, *words, user=None, status=0):
        """Runs a command in the system as root or as a user. Returns its output; its status must be `status`."""
        if user is not None:
            words = ("su", user, "-s", "/bin/sh", "-c", " ".join(words))
        done = subprocess.run(["chroot", self.folder, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=bare_system.ENVIRONMENT, timeout=PATIENCE, check=False)
        errors = done.stderr.decode(errors="replace")
        check(done.returncode == status, f"{' '.join(words)}\nended with {done.returncode}: {errors}")
        return done.stdout

    def files(self):
        """Returns every path in the system outside the volatile folders."""
        words = ["find", "/", "-xdev", "("]
        for folder in VOLATILE:
            words += ["-path", folder, "-o"]
        return set(self.run(*words[:-1], ")", "-prune", "-o", "-print0").decode().split("\0")) - {""}

    def owned(self):
        """Returns every path of an installed package. /bin, /sbin and /lib are links into /usr, and are resolved."""
        lists = (self.folder / "var/lib/dpkg/info").glob("*.list")
        named = {line for path in lists for line in path.read_text(encoding="utf-8").splitlines()}
        return {f"/usr{line}" if re.match(r"/(s?bin|lib\w*)/", line) else line for line in named}


def runs_recordfs():
    for path in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # the process may end meanwhile
            if path.read_text(encoding="utf-8").strip() == "recordfs":
                return True
    return False


def wait_for_end():
    """Waits until no recordfs runs in this process namespace. This program is its first process, and so the parent of all
    orphans, which it reaps."""
    end = time.monotonic() + PATIENCE
    while runs_recordfs():
        check(time.monotonic() < end, "recordfs still runs after unmounting")
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(0.01)


def install(root, package):
    shutil.copy(package, root.folder / "tmp")
    root.run("apt-get", "install", "-qq", "--no-install-recommends", f"/tmp/{package.name}")


def use_without_mount(root):
    version = root.run("recordfs --version", user=USER)
    check(version.startswith(b"recordfs "), "--version")
    check(b"libprotobuf not available" not in version, "libprotobuf is missing")
    everything = root.run(f"recordfs cat {HOME}/{SAMPLE}", user=USER)
    check(RECORD_42 in everything, "recordfs cat does not print record 42")
    return hashlib.sha256(everything).hexdigest()


@contextlib.contextmanager
def served(folder):
    """Serves a folder by HTTP. Yields its URL."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    handler.func.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def use_url(root, *reading):
    """Reads a record of a URL, by a command that takes the URL and an ordinal."""
    with served(root.folder / HOME[1:]) as url:
        shown = root.run(*(word.format(url=f"{url}/{SAMPLE}") for word in reading), user=USER)
    check(shown.rstrip(b"\n") == RECORD_42, "wrong bytes in record 42 of a URL")


def use_as_user(root, digest):
    point = f"{HOME}/mnt"
    root.run(f"mkdir {point} && recordfs {HOME}/{SAMPLE} {point}", user=USER)
    check(root.run(f"cat {point}/records/000000042", user=USER) == RECORD_42, "wrong bytes in record 42")
    names = root.run(f"ls {point}/records", user=USER).split()
    check(len(names) == RECORDS, f"{len(names)} records in the mount, not {RECORDS}")
    everything = root.run(f"cat {point}/streams/concat", user=USER)
    check(hashlib.sha256(everything).hexdigest() == digest, "streams/concat differs from the output of recordfs cat")
    root.run(f"fusermount3 -u {point}", user=USER)
    wait_for_end()


def use_through_mount8(root):
    point = "/mnt/records"
    root.run("mkdir", "-p", point)
    with (root.folder / "etc/fstab").open("a", encoding="utf-8") as fstab:
        fstab.write(f"{HOME}/{SAMPLE} {point} recordfs ro,nofail,_netdev,x-systemd.automount 0 0\n")
    source = f"{HOME}/{SAMPLE}"
    for words in (("-t", "recordfs", source, point), ("-t", "fuse.recordfs", source, point), (point,)):
        root.run("mount", *words)
        check(root.run("cat", f"{point}/records/42") == RECORD_42, f"mount {' '.join(words)}: wrong bytes in record 42")
        root.run("umount", point)
        wait_for_end()


def install_python(root, files):
    """Installs Python, which creates files that no package owns. Adds all files to `files`."""
    root.run("apt-get", "install", "-qq", "--no-install-recommends", "python3")
    files |= root.files()


def use_in_python(root, python="python3"):
    count = f"import recordfs; print(len(recordfs.open('{HOME}/{SAMPLE}')))"
    check(root.run(f'{python} -c "{count}"', user=USER).split() == [b"%d" % RECORDS], "wrong number of records")
    decode = f"import recordfs; print(recordfs.open('{HOME}/{MESSAGES}').decode(0)['u64'])"
    check(root.run(f'{python} -c "{decode}"', user=USER).split() == [MESSAGE_0], "messages are not decoded")
    known = json.loads(root.run(f"{python} -m recordfs info {HOME}/{SAMPLE}", user=USER))
    check(known["format"] == "riegeli", f"python3 -m recordfs info: {known}")
    root.run(python, "-c", "import recordfs")  # as root, which could write bytecode


def use_library(root, library, development):
    """Builds an example here, with the files of the packages, and runs it in the system."""
    with tempfile.TemporaryDirectory() as folder:
        for package in (library, development):
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        source = Path(folder) / "usr/share/doc/librecordfs-dev/examples/print_record.c"
        words = [f"-I{folder}/usr/include", f"-L{next(Path(folder).glob('usr/lib/*/librecordfs.so')).parent}", "-lrecordfs"]
        program = root.folder / "tmp/print_record"
        subprocess.run(["cc", "-o", program, source, *words], check=True)
    check(root.run(f"/tmp/print_record {HOME}/{SAMPLE} 42", user=USER) == RECORD_42, "wrong bytes in record 42")
    decoded = root.run(f"/tmp/print_record {HOME}/{MESSAGES} 0 json", user=USER)
    check(b'"u64":' in decoded and MESSAGE_0 in decoded, "messages are not decoded")
    use_url(root, "/tmp/print_record", "{url}", "42")


def remove(root, name, files_before):
    root.run("dpkg", "-r", name)
    left = root.files() - files_before - root.owned()
    own = {"/mnt/records"}  # created by use_through_mount8()
    check(left <= own, f"files left after the removal: {sorted(left - own)}")
    status = root.run("dpkg-query", "-W", "-f", "${Package}\\n").decode().split()
    check(name not in status, "dpkg still lists the removed package")
    info = [path.name for path in (root.folder / "var/lib/dpkg/info").iterdir() if path.name.startswith(f"{name}.")]
    check(not info, f"dpkg still has {info}")


def with_user(folder, checkout):
    """Returns the system in a folder, with a user and samples. Call this in new namespaces, which end with every mount
    and process in them."""
    bare_system.mount_devices(folder)
    root = Root(folder)
    root.run("useradd", "--create-home", USER)
    for name in (SAMPLE, MESSAGES):
        shutil.copy(checkout / "tests/corpus/riegeli" / name, folder / HOME[1:])
        (folder / HOME[1:] / name).chmod(0o644)
    return root


def take(steps):
    """Runs functions, and prints their names."""
    for name, step in steps.items():
        step()
        print(f"ok: {name}", flush=True)


def in_copy(system, keep, *words):
    """Runs a test's program with the options --keep, and --inside with a copy of a system, in new namespaces. Returns its exit
    status."""
    with tempfile.TemporaryDirectory(dir=keep) as folder:
        copy = Path(folder) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", system, copy], check=True)
        inner = [sys.executable, "-B", *words, "--keep", keep, "--inside", copy]
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation",
                               "private", *inner], check=False).returncode


def try_packages(folder, program, python, library, development, checkout):
    root = with_user(folder, checkout)
    before = root.files()
    steps = {
        "apt-get installs recordfs": lambda: install(root, program),
        "a user reads records without a mount": lambda: use_without_mount(root),
        "a user reads a URL": lambda: use_url(root, "recordfs", "cat", "{url}", "42"),
        "a user mounts, reads and unmounts": lambda: use_as_user(root, use_without_mount(root)),
        "mount(8) and fstab(5) mount it": lambda: use_through_mount8(root),
        "dpkg removes it without a trace": lambda: remove(root, "recordfs", before),
        "apt-get installs Python": lambda: install_python(root, before),
        "apt-get installs python3-recordfs alone": lambda: install(root, python),
        "Python reads records and decodes messages": lambda: use_in_python(root),
        "Python reads a URL": lambda: use_url(root, "python3", "-c", f"'{PRINT_42}'", "{url}"),
        "dpkg removes that without a trace": lambda: remove(root, "python3-recordfs", before),
        "apt-get installs the library alone": lambda: install(root, library),
        "a program that is linked with it reads records and URLs": lambda: use_library(root, library, development),
        "apt-get installs the headers": lambda: install(root, development),
        "dpkg removes the headers without a trace": lambda: remove(root, "librecordfs-dev", before),
        "dpkg removes the library without a trace": lambda: remove(root, "librecordfs0", before),
    }
    take(steps)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--packages", type=lambda text: Path(text).resolve(), nargs=4, required=True)
    parser.add_argument("--keep", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--checkout", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        if options.inside:
            try_packages(options.inside, *options.packages, options.checkout)
            return 0
        system = bare_system.find_or_make(options.keep, options.packages)
        return in_copy(system, options.keep, __file__, "--packages", *options.packages, "--checkout", options.checkout)
    except bare_system.Impossible as reason:
        print(f"SKIPPED: the packages were not tested in a clean system: {reason}")
        return SKIPPED
    except Wrong as message:
        print(f"FAILED: {message}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
