#!/usr/bin/env python3
"""Unix tools on a mount: recursive tools find each record once, and reading tools see exact bytes."""
import base64
import mmap
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import mounting

SAMPLE = "riegeli/multiblock_zstd.riegeli"


class RecursiveTools(mounting.Case):
    def setUp(self):
        super().setUp()
        self.top = self.mount(mounting.sample(SAMPLE)).point
        self.records = {name: (self.top / "records" / name).read_bytes() for name in os.listdir(self.top / "records")}

    def tool(self, *command):
        done = mounting.run(*command, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def test_grep_finds_each_record_once(self):
        found = self.tool("grep", "-r", "-a", "-l", "", self.top).split()
        records = [path for path in found if "/records/" in path]
        self.assertEqual(sorted(records), sorted(str(self.top / "records" / name) for name in self.records))
        self.assertEqual(len(found) - len(records), 1, "only info.json is beside the records")

    def test_du_counts_each_record_once(self):
        shown = int(self.tool("du", "-s", "--apparent-size", "-B1", self.top).split()[0])
        sizes = sum(map(len, self.records.values())) + (self.top / "info.json").stat().st_size
        self.assertEqual(shown, sizes)

    def test_diff_of_two_mounts_finds_no_difference(self):
        other = self.mount(mounting.sample(SAMPLE)).point
        self.assertEqual(self.tool("diff", "-r", self.top, other), "")

    @unittest.skipIf(shutil.which("rsync") is None, "rsync is not installed")
    def test_second_rsync_copies_nothing(self):
        target = self.folder / "synchronised"
        self.tool("rsync", "-a", f"{self.top}/", target)
        self.assertEqual((target / "records/000000007").read_bytes(), self.records["000000007"])
        self.assertEqual(self.tool("rsync", "-a", "--itemize-changes", f"{self.top}/", target), "")


class Copies(mounting.Case):
    """A user can copy a whole mount with any tool, and remove the copy again."""

    def setUp(self):
        super().setUp()
        self.user = mounting.NOBODY if mounting.is_root() else None
        self.work = self.folder / "work"
        self.work.mkdir()
        self.work.chmod(0o777)

    def copied_by(self, top, name):
        target = Path(tempfile.mkdtemp(dir=self.work))
        target.chmod(0o777)
        commands = {"cp": ("cp", "-r", top, target / "copy"), "archive": ("cp", "-a", top, target / "copy"),
                    "tar": ("bash", "-c", f"mkdir {target}/copy && tar -cf - -C {top} . | tar -xpf - -C {target}/copy")}
        if shutil.which("rsync"):
            commands["rsync"] = ("rsync", "-a", f"{top}/", target / "copy")
        if name not in commands:
            self.skipTest(f"{name} is not installed")
        done = mounting.run(*commands[name], user=self.user)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return target / "copy"

    def check(self, top, least):
        wanted = {path.relative_to(top): path.read_bytes() for path in top.rglob("*") if path.is_file()}
        self.assertGreaterEqual(len(wanted), least)
        for name in ("cp", "archive", "tar", "rsync"):
            with self.subTest(tool=name):
                copy = self.copied_by(top, name)
                entries = list(copy.rglob("*"))
                self.assertEqual([path for path in entries if path.is_symlink()], [])
                self.assertEqual({path.relative_to(copy): path.read_bytes() for path in entries if path.is_file()}, wanted)
                done = mounting.run("rm", "-rf", copy, user=self.user)
                self.assertEqual((done.returncode, done.stderr, copy.exists()), (0, "", False))

    def public(self, *sources, options=()):
        return self.mount(*sources, options=["allow_other", *options] if mounting.is_root() else options).point

    def test_container(self):
        self.check(self.public(self.copy("riegeli/simple_snappy.riegeli")), 500)

    def test_read_only_container(self):
        source = self.copy("riegeli/simple_snappy.riegeli")
        source.chmod(0o444)
        self.check(self.public(source), 500)

    def test_several_containers_and_a_joined_set(self):
        shards = [self.copy("riegeli/simple_snappy.riegeli", f"part-{number:05}-of-00002.riegeli") for number in (0, 1)]
        self.check(self.public(*shards), 1000)
        self.check(self.public(*shards, options=["join"]), 1000)

    def test_mirrored_directory(self):
        (self.folder / "data").mkdir()
        for name in ("data/one.riegeli", "data/two.riegeli"):
            self.copy("riegeli/simple_snappy.riegeli", name)
        self.check(self.public(self.folder / "data"), 1000)


class ReadingTools(mounting.Case):
    def setUp(self):
        super().setUp()
        self.top = self.mount(mounting.sample(SAMPLE)).point
        self.whole = b"".join((self.top / "records" / name).read_bytes() for name in sorted(os.listdir(self.top / "records")))
        self.concat = self.top / "streams" / "concat"

    def output(self, command):
        done = mounting.run("bash", "-c", f"set -o pipefail; {command} | base64 -w0", cwd=self.top)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return base64.b64decode(done.stdout)

    def test_tail_prints_the_end(self):
        self.assertEqual(self.output("tail -c 777 streams/concat"), self.whole[-777:])

    def test_mmap_shows_the_bytes(self):
        with self.concat.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            self.assertEqual(mapped[:], self.whole)
            self.assertEqual(mapped.find(self.whole[100000:100040]), self.whole.find(self.whole[100000:100040]))

    def test_seek_hole_finds_no_hole(self):
        with self.concat.open("rb") as file:
            self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_HOLE), len(self.whole))
            self.assertEqual(os.lseek(file.fileno(), 5, os.SEEK_DATA), 5)

    def test_statfs_returns_the_size_of_the_source(self):
        usage = os.statvfs(self.top)
        self.assertEqual(usage.f_blocks * usage.f_frsize // 4096, -(-mounting.sample(SAMPLE).stat().st_size // 4096))
        self.assertTrue(usage.f_flag & os.ST_RDONLY)


if __name__ == "__main__":
    mounting.main()
