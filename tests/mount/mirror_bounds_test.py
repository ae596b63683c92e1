#!/usr/bin/env python3
"""Mirrors of large directories, and of directories that contain their own mount point."""
import contextlib
import errno
import os
import threading

import mounting
from mirroring import OTHER, SAMPLE, Mirrored

MANY = 20000
MAX_DESCRIPTORS = 200


class Many(Mirrored):
    def descriptors(self, mounted):
        return len(os.listdir(f"/proc/{mounted.daemon.pid}/fd"))

    def test_twenty_thousand_files_are_listed_and_readable(self):
        content = mounting.sample("bloscpack/v2-2.blp").read_bytes()
        for number in range(MANY):
            name = f"{number // 1000}/{number}" if number < MANY // 2 else f"flat/{number}"
            if number % 1000 == 0:
                (self.source / name).parent.mkdir(exist_ok=True)
            (self.source / name).write_bytes(content if number % 2 else b"text %d\n" % number)
        mounted = self.mirror()
        before = self.descriptors(mounted)
        self.assertEqual(len(self.names(mounted, "flat")), MANY // 2)
        done = mounting.run("find", mounted.point, "-maxdepth", "2", "-type", "f", timeout=10 * mounting.PATIENCE)
        self.assertEqual((done.stderr, done.stdout.count("\n")), ("", MANY // 2))
        self.assertLess(self.descriptors(mounted), before + 40, "listing names must not keep files open")
        for number in range(1, 400, 2):
            self.assertEqual((mounted / f"0/{number}/info.json").read_bytes()[:1], b"{")
        for number in range(0, 400, 2):
            self.assertEqual((mounted / f"0/{number}").read_bytes(), b"text %d\n" % number)
        self.assertLess(self.descriptors(mounted), MAX_DESCRIPTORS)
        self.assertEqual((mounted / "0/1/records/000000000").read_bytes(),
                         (mounted / "0/399/records/000000000").read_bytes())

    def test_many_open_directories_take_few_descriptors(self):
        for number in range(300):
            self.write(f"{number}/file", b"")
        mounted = self.mirror()
        opened = [self.enter(os.scandir(mounted / str(number))) for number in range(300)]
        self.assertLess(self.descriptors(mounted), MAX_DESCRIPTORS)
        for entries in opened:
            self.assertEqual([entry.name for entry in entries], ["file"])

    def test_listing_continues_while_files_are_removed(self):
        for number in range(5000):
            self.write(f"{number:05}", b"")
        mounted = self.mirror()
        with os.scandir(mounted.point) as entries:
            seen = [next(entries).name]
            for number in range(0, 5000, 2):
                if f"{number:05}" not in seen:
                    (self.source / f"{number:05}").unlink()
            seen += [entry.name for entry in entries]
        self.assertEqual(len(seen), len(set(seen)))
        self.assertLessEqual({f"{number:05}" for number in range(1, 5000, 2)}, set(seen))

    def test_more_containers_than_stay_open_are_read_concurrently(self):
        """Meanwhile another container is replaced again and again."""
        for number in range(150):
            self.put(f"{number}", SAMPLE)
        mounted = self.mirror()
        truth = self.read_container(mounted / "0")
        failures = []

        def read(first):
            for number in range(first, 150, 4):
                if self.read_container(mounted / str(number)) != truth:
                    failures.append(number)

        readers = [threading.Thread(target=read, args=(first,)) for first in range(4)]
        for reader in readers:
            reader.start()
        for turn in range(100):
            os.replace(self.put("new", OTHER), self.source / "changing")
            with contextlib.suppress(OSError):
                self.names(mounted, "changing/records")
        for reader in readers:
            reader.join()
        self.assertEqual(failures, [])
        self.assertLess(self.descriptors(mounted), MAX_DESCRIPTORS)

    @staticmethod
    def read_container(folder):
        return [(folder / f"records/{ordinal}").read_bytes() for ordinal in (0, 7, 499)] + [
            (folder / "index/chunks.tsv").read_bytes()]


class OwnMountPoint(Mirrored):
    def assert_ends(self, mounted, where):
        """Recursive commands end, because the mount point is empty in the mirror."""
        for command in (("find", mounted.point), ("ls", "-laR", mounted.point), ("grep", "-r", "x", mounted.point),
                        ("du", "-a", mounted.point)):
            done = mounting.run(*command, timeout=30)
            self.assertEqual(done.stderr, "")
        self.assertEqual(self.names(mounted, where), [])
        self.assert_fails_with(errno.ENOENT, os.stat, mounted / where / "anything")

    def test_mount_point_inside_the_source_is_empty(self):
        self.write("file", b"x")
        self.put("container")
        point = self.source / "mnt"
        point.mkdir()
        for flags in (["-f"], ["-f", "-s"]):
            mounted = self.mirror(point=point, flags=flags)
            self.assert_ends(mounted, "mnt")
            self.assertEqual(mounted.unmount(), 0)

    def test_background_mount_inside_the_current_directory_is_empty(self):
        self.write("sub/file", b"x")
        self.put("container")
        (self.source / "sub/mnt").mkdir()
        done = self.recordfs(".", "sub/mnt", cwd=self.source)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.source / "sub/mnt/sub/file").read_bytes(), b"x")
        self.assertEqual(os.listdir(self.source / "sub/mnt/sub/mnt"), [])
        self.assertEqual(mounting.run("fusermount3", "-u", self.source / "sub/mnt").returncode, 0)

    def test_mount_over_the_source_itself_shows_the_source(self):
        self.write("file", b"x")
        mounted = self.mirror(point=self.source, options=["nonempty"])
        self.assertEqual(self.names(mounted), ["file"])
        self.assertEqual((mounted / "file").read_bytes(), b"x")

    def test_mirrors_that_contain_each_other_end(self):
        self.write("one/file", b"x")
        self.write("two/file", b"y")
        for name in ("one", "two"):
            (self.source / name / "mnt").mkdir()
        first = self.mount(self.source, point=self.source / "one/mnt")
        second = self.mount(self.source, point=self.source / "two/mnt")
        for mounted in (first, second):
            self.assert_ends(mounted, "one/mnt")
            self.assert_ends(mounted, "two/mnt")
            self.assertEqual((mounted / "two/file").read_bytes(), b"y")

    @mounting.only_root
    def test_other_filesystems_below_the_source_are_shown(self):
        (self.source / "disk").mkdir()
        self.assertEqual(mounting.run("mount", "-t", "tmpfs", "none", self.source / "disk").returncode, 0)
        self.addCleanup(mounting.run, "umount", "-l", self.source / "disk")
        self.put("disk/deep/container")
        self.write("disk/deep/file", b"x")
        (self.source / "disk/mnt").mkdir()
        mounted = self.mirror(point=self.source / "disk/mnt")
        self.assertEqual((mounted / "disk/deep/file").read_bytes(), b"x")
        self.assertEqual(len(os.listdir(mounted / "disk/deep/container/records")), 500)
        self.assert_ends(mounted, "disk/mnt")


if __name__ == "__main__":
    mounting.main()
