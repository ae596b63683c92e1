#!/usr/bin/env python3
"""Tests the portable program in bare systems of several releases of Debian, first without fuse3, and then with it.

    portable_roots.py --portable TARBALL --keep FOLDER --checkout FOLDER [--arch ARCH] [RELEASE...]

debootstrap makes the systems. Default is the release of this system. Each runs in new namespaces, in a copy. With --arch, the
programs are of another processor and run under qemu-user, in which no setuid program and no seccomp filter works: so root mounts.
Exit status: 0 success, 1 failure, 77 none of the tests can run here.
"""
import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import bare_system
import built
import clean_root
import other_processor
from clean_root import HOME, MESSAGES, RECORD_42, SAMPLE, USER, check

PLACE = "/opt/recordfs"  # outside PATH
PROGRAM = f"{PLACE}/bin/recordfs"
SAMPLES = "/opt/samples"
LARGEST_ARCHIVE = 15_000_000
CANNOT_MOUNT = 3
UNCHECKED = 5  # some formats have no checksums


class Emulated(clean_root.Root):
    """A system whose packages are unpacked, but not configured, so that su(1) has no user."""

    def run(self, *words, user=None, status=0):
        if user is not None:
            words = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={HOME}", "sh", "-c", " ".join(words))
        return super().run(*words, status=status)


def unpack(root, tarball, place):
    target = root.folder / place[1:]
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xf", tarball, "-C", target, "--strip-components=1", "--no-same-owner"], check=True)
    others = [path for path in target.rglob("*") if path.suffix in (".a", ".so")]
    check(place != PLACE or not others, f"the archive has libraries: {others}")
    licenses = target / "share/doc/recordfs/licenses"
    check((licenses / "fuse3").is_file() and (licenses / "common-licenses/LGPL-2.1").is_file(), "the archive lacks licenses")


def use_commands(root):
    described = json.loads(root.run(f"{PROGRAM} --version --json", user=USER))
    check(described["linked"] == "static" and described["features"] == {"urls": True, "messages": True}, f"{described}")
    known = json.loads(root.run(f"{PROGRAM} info --json {HOME}/{SAMPLE}", user=USER))
    check(known["format"] == "riegeli", f"info: {known}")
    check(root.run(f"{PROGRAM} cat {HOME}/{SAMPLE} 42", user=USER).rstrip(b"\n") == RECORD_42, "cat")
    found = root.run(f"{PROGRAM} grep --count 'bucket position' {HOME}/{SAMPLE}", user=USER)
    check(int(found.split(b":")[-1]) > 0, f"grep --count: {found}")
    message = json.loads(root.run(f"{PROGRAM} head -n 1 --json {HOME}/{MESSAGES}", user=USER))
    check(clean_root.MESSAGE_0.decode() in json.dumps(message), f"head --json: {message}")


def read_samples(root, checkout):
    """Samples of every format have the records that their writers wrote."""
    corpus = checkout / "tests/corpus"
    shutil.copytree(corpus, root.folder / SAMPLES[1:])
    wanted = {}
    formats = [path for path in corpus.iterdir() if path.name != "database"]
    small = [path / "small" if (path / "small").is_dir() else path for path in formats]
    for path in sorted(found for folder in small for found in folder.glob(f"*{built.EXPECTATION}")):
        want = json.loads(path.read_text(encoding="utf-8"))
        if want.get("damaged") is False and "stream_sha256" in want:
            wanted[f"{SAMPLES}/{path.relative_to(corpus)}".removesuffix(built.EXPECTATION)] = want
    found = {Path(name).relative_to(SAMPLES).parts[0] for name in wanted}
    check(found == {path.name for path in formats}, f"samples of {found} alone")
    for line in root.run(PROGRAM, "verify", "--json", *wanted, status=UNCHECKED).splitlines():
        known = json.loads(line)
        check(known["status"] in ("good", "unchecked", "empty"), f"verify: {known}")
        check(known["records"] == wanted[known["file"]]["num_records"], f"verify: {known}")
    for name, want in wanted.items():
        records = built.delimited(root.run(PROGRAM, "cat", "--delimited", name))
        check(built.stream_digest(records) == want["stream_sha256"], f"cat {name}: wrong bytes")


def fail_to_mount(root):
    """Without fusermount3, the message names the package that has it."""
    said = root.run(f"{PROGRAM} mount {HOME}/{SAMPLE} {HOME}/none 2>&1", user=USER, status=CANNOT_MOUNT)
    check(b"fuse3" in said, f"mount without fusermount3: {said}")


def install_fuse(root):
    root.run("apt-get", "install", "-qq", "--no-install-recommends", "fuse3")


def use_mount(root):
    point = f"{HOME}/mnt"
    root.run(f"mkdir {point} && {PROGRAM} {HOME}/{SAMPLE} {point}", user=USER)
    check(root.run(f"cat {point}/records/000000042", user=USER) == RECORD_42, "wrong bytes in record 42")
    check(json.loads(root.run(f"cat {point}/info.json", user=USER))["format"] == "riegeli", "info.json")
    root.run(f"fusermount3 -u {point}", user=USER)
    clean_root.wait_for_end()


def use_mount8(root, tarball):
    """Unpacked in /usr/local, also mount(8) finds it."""
    unpack(root, tarball, "/usr/local")
    root.run("mkdir", "-p", "/mnt/records")
    root.run("mount", "-t", "fuse.recordfs", f"{HOME}/{SAMPLE}", "/mnt/records")
    check(root.run("cat", "/mnt/records/records/42") == RECORD_42, "mount(8): wrong bytes in record 42")
    root.run("umount", "/mnt/records")
    clean_root.wait_for_end()


def try_portable(folder, tarball, checkout):
    root = clean_root.with_user(folder, checkout)
    unpack(root, tarball, PLACE)
    clean_root.take({
        "commands": lambda: use_commands(root),
        "samples of each format": lambda: read_samples(root, checkout),
        "a URL": lambda: clean_root.use_url(root, PROGRAM, "cat", "{url}", "42"),
        "a mount without fuse3 says what is missing": lambda: fail_to_mount(root),
        "apt-get installs fuse3": lambda: install_fuse(root),
        "a user mounts": lambda: use_mount(root),
        "mount(8)": lambda: use_mount8(root, tarball),
    })


def mount_as_root(root):
    point = "/mnt/records"
    root.run("mkdir", "-p", point)
    root.run(PROGRAM, f"{HOME}/{SAMPLE}", point)
    check(root.run("cat", f"{point}/records/000000042") == RECORD_42, "wrong bytes in record 42")
    check(json.loads(root.run("cat", f"{point}/info.json"))["format"] == "riegeli", "info.json")
    root.run("umount", point)
    clean_root.wait_for_end()


def try_emulated(folder, tarball, checkout):
    bare_system.mount_devices(folder)
    root = Emulated(folder)
    (folder / HOME[1:]).mkdir(parents=True)
    for name in (SAMPLE, MESSAGES):
        shutil.copy(checkout / "tests/corpus/riegeli" / name, folder / HOME[1:])
    unpack(root, tarball, PLACE)
    clean_root.take({
        "commands": lambda: use_commands(root),
        "samples of each format": lambda: read_samples(root, checkout),
        "a URL": lambda: clean_root.use_url(root, PROGRAM, "cat", "{url}", "42"),
        "root mounts": lambda: mount_as_root(root),
    })


def try_release(release, options):
    """Returns the exit status of the test in one release."""
    print(f"{release or 'this release'}{f', {options.arch}' if options.arch else ''}:", flush=True)
    try:
        if options.arch:
            other_processor.register(options.arch)
        keep = options.keep / "-".join([release or "own", *([options.arch] if options.arch else [])])
        system = bare_system.find_or_make(keep, ["fuse3"], release, arch=options.arch)
    except bare_system.Impossible as reason:
        print(f"SKIPPED: no bare system: {reason}")
        return clean_root.SKIPPED
    arch = ["--arch", options.arch] if options.arch else []
    return clean_root.in_copy(system, options.keep, __file__, "--portable", options.portable, "--checkout", options.checkout, *arch)


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--portable", "--keep", "--checkout"):
        parser.add_argument(name, type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--arch", choices=sorted(other_processor.PROCESSORS))
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("releases", nargs="*")
    options = parser.parse_args()
    if options.inside:
        try:
            (try_emulated if options.arch else try_portable)(options.inside, options.portable, options.checkout)
            return 0
        except clean_root.Wrong as message:
            print(f"FAILED: {message}")
            return 1
    size = options.portable.stat().st_size
    print(f"{options.portable.name}: {size:,} bytes", flush=True)
    if size > LARGEST_ARCHIVE:
        print(f"FAILED: larger than {LARGEST_ARCHIVE:,} bytes")
        return 1
    statuses = [try_release(release, options) for release in options.releases or [None]]
    if all(status == clean_root.SKIPPED for status in statuses):
        return clean_root.SKIPPED
    return 0 if all(status in (0, clean_root.SKIPPED) for status in statuses) else 1


if __name__ == "__main__":
    sys.exit(main())
