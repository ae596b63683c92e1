#!/usr/bin/env python3
"""`cmake --install` installs exactly the expected files."""
import gzip
import os
import re
import stat
import subprocess
import sysconfig
import tempfile
import unittest
from pathlib import Path

import support

MODULE = f"lib/{sysconfig.get_config_var('MULTIARCH')}/recordfs/librecordfs-protobuf.so"
PROGRAM = "bin/recordfs"
FETCHER = "libexec/recordfs/recordfs-fetch"
DESKTOP = {"libexec/recordfs/open", "libexec/recordfs/preview"}
FOR_RIPGREP = "libexec/recordfs/rg-pre"
EXPECTED = {
    "bin/recordfs",
    "sbin/mount.recordfs",
    MODULE,
    "share/bash-completion/completions/recordfs",
    "share/doc/recordfs/GUARANTEES.md.gz",
    "share/doc/recordfs/README.md.gz",
    "share/doc/recordfs/changelog.gz",
    "share/doc/recordfs/copyright",
    "share/man/man1/recordfs.1.gz",
    "share/man/man8/mount.recordfs.8.gz",
    "share/mime/packages/recordfs.xml",
    FETCHER,
    "share/recordfs/magic",
    *(f"share/recordfs/engines/{path.name}" for path in support.ENGINES.iterdir()),
    "lib/systemd/system/recordfs@.service",
    *(f"share/recordfs/admin/{name}" for name in ("Dockerfile", "README.md", "compose.yaml", "mnt-log.mount")),
    "share/applications/recordfs.desktop",
    "share/fish/vendor_completions.d/recordfs.fish",
    "share/recordfs/admin/auto.records",
    "share/zsh/site-functions/_recordfs",
    *DESKTOP,
    FOR_RIPGREP,
}
EXECUTABLE = {PROGRAM, FETCHER, *DESKTOP, "share/recordfs/admin/auto.records", *(f"share/recordfs/engines/{name}" for name in (
    "parallel.sh", "slurm.sh", "task.sh", "xargs.sh"))}
LINK = "sbin/mount.recordfs"


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name)
        subprocess.run(["cmake", "--install", support.place.build, "--prefix", cls.root],
                       stdout=subprocess.DEVNULL, check=True)

    def test_expected_files_are_installed_and_no_others(self):
        found = (path for path in self.root.rglob("*") if path.is_symlink() or path.is_file())
        self.assertEqual({str(path.relative_to(self.root)) for path in found}, EXPECTED)

    def test_files_are_readable_and_only_programs_are_executable(self):
        for name in EXPECTED - {LINK, FOR_RIPGREP}:
            mode = stat.S_IMODE((self.root / name).stat().st_mode)
            self.assertEqual(mode, 0o755 if name in EXECUTABLE else 0o644, name)

    def test_mount_recordfs_is_a_link_to_the_program(self):
        link = self.root / LINK
        self.assertEqual(os.readlink(link), "../bin/recordfs")
        self.assertEqual(support.run(link, "--version").returncode, 0)

    def test_preprocessor_of_ripgrep_is_a_link_to_the_preview(self):
        self.assertEqual(os.readlink(self.root / FOR_RIPGREP), "preview")

    def test_program_finds_libprotobuf(self):
        self.assertRegex(support.run(self.root / PROGRAM, "--version").stdout, r"(?m)^libprotobuf \d")

    def test_release_notes_start_with_this_version(self):
        notes = gzip.decompress((self.root / "share/doc/recordfs/changelog.gz").read_bytes()).decode("utf-8")
        version = support.run(self.root / PROGRAM, "--version").stdout.split()[1]
        self.assertTrue(notes.startswith(f"recordfs ({version}"), notes[:80])

    def test_documentation_of_users_is_that_of_the_checkout(self):
        for name, source in (("README.md", "README.md"), ("GUARANTEES.md", "tests/GUARANTEES.md")):
            made = gzip.decompress((self.root / f"share/doc/recordfs/{name}.gz").read_bytes())
            self.assertEqual(made, (support.place.checkout / source).read_bytes())

    def test_paths_in_files_follow_the_prefix(self):
        page = gzip.decompress((self.root / "share/man/man1/recordfs.1.gz").read_bytes()).decode("utf-8")
        entry = (self.root / "share/applications/recordfs.desktop").read_text(encoding="utf-8")
        for text, name in ((page, "libexec/recordfs/preview"), (page, "share/recordfs/magic"), (entry, "libexec/recordfs/open")):
            self.assertEqual(set(re.findall(rf"[^\s'|=]*/{name}\b", text)), {str(self.root / name)})

    def test_man_pages_are_complete(self):
        for name in sorted(EXPECTED):
            if name.startswith("share/man/"):
                page = gzip.decompress((self.root / name).read_bytes()).decode("utf-8")
                self.assertIn(".Sh SEE ALSO", page, name)


if __name__ == "__main__":
    support.main()
