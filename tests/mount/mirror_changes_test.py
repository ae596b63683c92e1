#!/usr/bin/env python3
"""A mirrored directory that changes while it is mounted: the mount shows its present content, and nothing from outside."""
import contextlib
import errno
import os
import shutil
import threading
import time

import mounting
from mirroring import OTHER, SAMPLE, Mirrored, tree_of


class Changes(Mirrored):
    def test_created_renamed_and_removed_files_are_seen_at_once(self):
        mounted = self.mirror()
        for turn in range(50):
            self.assertFalse((mounted / "file").exists())
            self.write("file", b"x")
            self.assertEqual(self.names(mounted), ["file"], turn)
            self.assertTrue((mounted / "file").exists())
            (self.source / "file").rename(self.source / "other")
            self.assertFalse((mounted / "file").exists())
            self.assertEqual((mounted / "other").read_bytes(), b"x")
            self.assertEqual(self.names(mounted), ["other"], turn)
            (self.source / "other").unlink()
            self.assertEqual(self.names(mounted), [], turn)

    def test_rewritten_file_of_the_same_size_and_time_is_read_again(self):
        mounted = self.mirror()
        for turn in range(20):
            content = b"%d" % (turn % 10)
            os.utime(self.write("file", content), (1, 1))
            self.assertEqual((mounted / "file").read_bytes(), content, turn)

    def test_replaced_file_is_read_again(self):
        mounted = self.mirror()
        for turn in range(100):
            content = os.urandom(20)
            os.replace(self.write("new", content), self.source / "file")
            self.assertEqual((mounted / "file").read_bytes(), content, turn)

    def test_container_rewritten_in_place_shows_the_new_records(self):
        self.put("container", SAMPLE)
        truths = {name: tree_of(self.mount(mounting.sample(name)).point) for name in (SAMPLE, OTHER)}
        mounted = self.mirror()
        for name in (SAMPLE, OTHER, SAMPLE):
            self.put("container", name)
            self.assertEqual(tree_of(mounted / "container"), truths[name])

    def test_file_can_become_a_container_and_then_a_directory(self):
        mounted = self.mirror()
        for _ in range(5):
            self.write("thing", b"text")
            self.assertEqual((mounted / "thing").read_bytes(), b"text")
            self.put("thing")
            self.assertIn("records", self.names(mounted, "thing"))
            (self.source / "thing").unlink()
            self.write("thing/file", b"x")
            self.assertEqual(self.names(mounted, "thing"), ["file"])
            shutil.rmtree(self.source / "thing")
            self.assertFalse((mounted / "thing").exists())

    def test_reader_inside_a_replaced_container_sees_the_old_records_or_an_error(self):
        self.put("container", SAMPLE)
        mounted = self.mirror()
        inside = os.open(mounted / "container/records", os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, inside)
        truth = {name: (mounted / "container/records" / name).read_bytes() for name in os.listdir(inside)}
        os.replace(self.put("new", OTHER), self.source / "container")
        self.names(mounted, "container/records")
        for name, content in truth.items():
            try:
                file = os.open(name, os.O_RDONLY, dir_fd=inside)
            except OSError as failed:
                self.assertIn(failed.errno, (errno.ESTALE, errno.ENOENT))
                continue
            self.assertEqual(os.pread(file, 1 << 20, 0), content)
            os.close(file)

    def test_reader_of_a_growing_file_sees_the_new_bytes(self):
        path = self.write("log", b"first\n")
        mounted = self.mirror()
        with (mounted / "log").open("rb", buffering=0) as reading:
            self.assertEqual(reading.read(100), b"first\n")
            with path.open("ab") as writing:
                writing.write(b"second\n")
            mounting.wait_for(lambda: reading.seek(0) == 0 and reading.read(100) == b"first\nsecond\n", "the second line", 5)
            mounting.wait_for(lambda: os.fstat(reading.fileno()).st_size == 13, "the new size", 5)

    def test_reader_of_a_removed_file_can_continue(self):
        path = self.write("file", os.urandom(4_000_000))
        content = path.read_bytes()
        mounted = self.mirror()
        with (mounted / "file").open("rb", buffering=0) as reading:
            head = reading.read(4096)
            path.unlink()
            self.assertFalse((mounted / "file").exists())
            self.assertEqual(head + b"".join(iter(lambda: reading.read(1 << 20), b"")), content)

    def test_open_files_in_a_container_that_grew_keep_their_content(self):
        whole = mounting.sample("leveldb_log/" + self.largest_log()).read_bytes()
        log = self.write("log", whole[:32768])
        truth = tree_of(self.mount(shutil.copyfile(log, self.folder / "log")) / "records")
        mounted = self.mirror()
        inside = os.open(mounted / "log/records", os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, inside)
        name = os.fsdecode(max(truth))
        with (mounted / "log/records" / name).open("rb", buffering=0) as last:
            with log.open("ab") as writing:
                writing.write(whole[32768:])
            self.assertGreater(len(os.listdir(mounted / "log/records")), len(truth))
            self.assertEqual(sorted(map(os.fsencode, os.listdir(inside))), sorted(truth))
            self.assertEqual(last.read(), truth[os.fsencode(name)][1])
        for name, (_, content) in truth.items():
            with open(os.open(name, os.O_RDONLY, dir_fd=inside), "rb") as record:
                self.assertEqual(record.read(), content)

    @staticmethod
    def largest_log():
        folder = mounting.place.checkout / "tests/corpus/leveldb_log"
        return max((path for path in folder.glob("*.log")), key=lambda path: path.stat().st_size).name

    def test_removed_source_directory_is_shown_as_empty(self):
        self.write("file", b"x")
        mounted = self.mirror()
        self.names(mounted)
        shutil.rmtree(self.source)
        self.assertEqual(self.names(mounted), [])
        self.assertFalse((mounted / "file").exists())
        self.assertEqual(mounted.unmount(), 0)


class Links(Mirrored):
    def test_links_out_of_the_source_are_shown_as_links(self):
        (self.source / "absolute").symlink_to("/etc/passwd")
        (self.source / "up").symlink_to("../secret")
        (self.source / "far").symlink_to("../" * 40 + "etc")
        mounted = self.mirror()
        for name in ("absolute", "up", "far"):
            self.assertTrue(os.path.islink(mounted / name))
            self.assertEqual(os.readlink(mounted / name), os.readlink(self.source / name))

    def test_changed_link_is_read_again(self):
        link = self.source / "link"
        link.symlink_to("first")
        mounted = self.mirror()
        for target in ("second", "third", "fourth"):
            self.assertNotEqual(os.readlink(mounted / "link"), target)
            link.unlink()
            link.symlink_to(target)
            self.assertEqual(os.readlink(mounted / "link"), target)

    def test_directory_replaced_by_a_link_does_not_lead_outside(self):
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "file").write_bytes(b"secret")
        self.write("folder/file", b"ours")
        self.write("folder/other", b"ours")
        mounted = self.mirror()
        inside = os.open(mounted / "folder", os.O_RDONLY | os.O_DIRECTORY)
        file = os.open("file", os.O_RDONLY, dir_fd=inside)
        self.assertEqual(os.read(file, 2), b"ou")
        (self.source / "folder").rename(self.source / "moved")
        (self.source / "folder").symlink_to(outside)
        for name in ("file", "other"):
            with contextlib.suppress(OSError):
                opened = os.open(name, os.O_RDONLY, dir_fd=inside)
                self.assertNotIn(b"secret", self.read_or_nothing(opened))
                os.close(opened)
        self.assertNotIn(b"secret", self.read_or_nothing(file))
        self.assertEqual(os.readlink(mounted / "folder"), str(outside))
        for descriptor in (inside, file):
            os.close(descriptor)

    @staticmethod
    def read_or_nothing(descriptor):
        try:
            return os.pread(descriptor, 100, 0)
        except OSError:
            return b""

    def test_directory_swapped_with_a_link_never_leads_outside(self):
        """A thread swaps a directory and a link as fast as it can, while another reads through the mount."""
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "file").write_bytes(b"secret")
        self.write("folder/file", b"ours")
        (self.source / "link").symlink_to(outside)
        mounted = self.mirror()
        stop = threading.Event()

        def swap():
            while not stop.is_set():
                for here, there in (("folder", "kept"), ("link", "folder"), ("folder", "link"), ("kept", "folder")):
                    (self.source / here).rename(self.source / there)

        swapping = threading.Thread(target=swap)
        swapping.start()
        self.addCleanup(swapping.join)
        self.addCleanup(stop.set)
        end = time.monotonic() + 2
        seen = set()
        while time.monotonic() < end:
            # O_NOFOLLOW at each step: only the daemon could have followed the link.
            with contextlib.suppress(OSError):
                folder = os.open(mounted / "folder", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    file = os.open("file", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
                    seen.add(os.read(file, 100))
                    os.close(file)
                finally:
                    os.close(folder)
        self.assertLessEqual(seen, {b"ours"})


if __name__ == "__main__":
    mounting.main()
