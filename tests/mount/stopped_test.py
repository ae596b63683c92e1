#!/usr/bin/env python3
"""A source whose filesystem does not answer at all: what the mount knows is still answered, and other sources are served.

No test may have a file of a stopped filesystem open while it starts a program: the child would close its copy, and wait.
"""
import os
import shutil
import signal
import subprocess
import time

import mounting
import waiting_test
from waiting_test import AT_ONCE, RECORDS, SAMPLE

READERS = 16  # more than there are threads
DROP_PAGES = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
sys.stdout.buffer.write(os.read(file, 1 << 20))
"""


class StoppedSource(waiting_test.SlowSource):
    CHUNKS = [chunk["begin"] for chunk in mounting.expectation(SAMPLE)["chunks"] if chunk["num_records"]]

    def setUp(self):
        super().setUp()
        self.source = self.slow / "slow.riegeli"

    def stop_source(self):
        (self.folder / "backing/stopped").touch()
        self.addCleanup(self.restart_source)

    def restart_source(self):
        (self.folder / "backing/stopped").unlink(missing_ok=True)

    def start(self, *command):
        running = super().start(*command)
        self.addCleanup(self.restart_source)
        return running

    def start_readers(self, top=""):
        """Readers of bytes that no cache holds, one for each chunk in turn."""
        readers = [self.start("sha256sum", f"{top}chunks/{self.CHUNKS[i % len(self.CHUNKS)]:015}/raw") for i in range(READERS)]
        self.assert_waits(readers[0], 1)
        return readers

    def assert_finished(self, readers):
        """With the bytes of the file, once it answers again."""
        self.restart_source()
        first = {}
        for i, reader in enumerate(readers):
            output, complaint = reader.communicate(timeout=mounting.PATIENCE)
            self.assertEqual((reader.returncode, complaint), (0, b""))
            self.assertEqual(first.setdefault(i % len(self.CHUNKS), output), output)
        self.assertEqual(len(set(first.values())), len(first))

    def look_at_everything(self, top=""):
        """All that assert_known() asks for, and the names that lead to the chunks."""
        for path in ("", "records", "chunks/", "thousands/", "index/"):
            self.assert_answers("ls", "-l", f"{top}{path or '.'}")
        for begin in self.CHUNKS:
            self.assert_answers("stat", f"{top}chunks/{begin:015}/raw")
        for name in ("records/0", "records/1249", "info.json", "index/summary.json", "index/chunks.tsv"):
            self.assert_answers("cat", f"{top}{name}")

    def assert_known(self, top=""):
        """By names that the kernel has not seen, and pages that it has dropped, so that the daemon is asked."""
        self.asked = getattr(self, "asked", 0) + 1
        first = mounting.expectation(SAMPLE)["sample"][0]["sha256"]
        name = "0" * (10 + self.asked)
        self.assertTrue(self.assert_answers("sha256sum", f"{top}records/{name}").startswith(first))
        self.assertIn("records", self.assert_answers("ls", f"{top}."))
        self.assertEqual(len(self.assert_answers("ls", "-l", f"{top}records").splitlines()), RECORDS + 1)
        for file in ("info.json", "index/summary.json", "index/chunks.tsv", "records/000000000", "records/000001249"):
            self.assertNotEqual(self.assert_answers("python3", "-c", DROP_PAGES, f"{top}{file}"), "")
        self.assertEqual(self.assert_answers("readlink", f"{top}thousands/{self.asked * '0'}1"), "000001\n")
        self.assert_answers("stat", "--file-system", f"{top}.")


class OneContainer(StoppedSource):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.source)
        self.assert_answers("stat", ".")  # it may still look at its sources when it is mounted

    def test_root_that_nobody_has_listed_is_listed(self):
        self.stop_source()
        self.assertIn("records", self.assert_answers("ls", "-l", "."))
        self.assertIn('"riegeli"', self.assert_answers("cat", "info.json"))

    def test_what_is_known_is_answered(self):
        self.look_at_everything()
        self.stop_source()
        self.assert_known()

    def test_what_is_known_is_answered_while_more_readers_wait_than_there_are_threads(self):
        self.look_at_everything()
        self.stop_source()
        readers = self.start_readers()
        self.assert_known()
        self.assert_finished(readers)

    def test_one_thread_is_enough(self):
        self.mounted = self.mount(self.source, flags=["-f", "-s"])
        self.look_at_everything()
        self.stop_source()
        readers = self.start_readers()
        self.assert_known()
        self.assert_finished(readers)

    def test_what_needs_the_source_is_interrupted_at_once(self):
        self.look_at_everything()
        self.stop_source()
        for command in (("stat", f"chunks/{self.CHUNKS[1]:015}/info.json"), ("stat", "records/700.json")):
            with self.subTest(command=command):
                running = self.start(*command)
                self.assert_waits(running)
                self.assert_interrupted_at_once(running)
        self.assert_known()

    def test_source_that_was_cut_off_meanwhile_gives_errors(self):
        self.look_at_everything()
        self.stop_source()
        reader = self.start("cat", f"chunks/{self.CHUNKS[-1]:015}/raw")
        self.assert_waits(reader)
        os.truncate(self.folder / "backing/slow.riegeli", self.CHUNKS[-1])
        self.assert_known()
        self.restart_source()
        output, complaint = reader.communicate(timeout=mounting.PATIENCE)
        self.assertEqual((reader.returncode, output), (1, b""))
        self.assertIn(b"Input/output error", complaint)


class SeveralSources(StoppedSource):
    """One filesystem is stopped, another one of the same kind goes on, and so does the disk."""

    def setUp(self):
        super().setUp()
        (self.folder / "backing2").mkdir()
        self.copy(SAMPLE, "backing2/other.riegeli")
        other = self.folder / "slow2"
        other.mkdir()
        self.enter(mounting.started(mounting.program("slowfs"), self.folder / "backing2", other))
        mounting.wait_for(lambda: str(other) in mounting.mounts(), "slowfs")
        self.addCleanup(mounting.run, "fusermount3", "-u", "-z", other)
        time.sleep(0.05)
        self.other = other
        self.disk = self.copy(SAMPLE, "disk.riegeli")

    def assert_served(self, *tops):
        for top in tops:
            self.assertEqual(len(self.assert_answers("ls", "-l", f"{top}/records").splitlines()), RECORDS + 1)
            self.assert_answers("cat", f"{top}/streams/concat")
            self.assert_answers("sha256sum", f"{top}/chunks/{self.CHUNKS[2]:015}/raw")

    def test_others_are_served_while_more_readers_wait_than_there_are_threads(self):
        self.mounted = self.mount(self.source, self.other / "other.riegeli", self.disk)
        self.look_at_everything("slow.riegeli/")
        self.stop_source()
        readers = self.start_readers("slow.riegeli/")
        self.assertEqual(self.assert_answers("ls"), "disk.riegeli\nother.riegeli\nslow.riegeli\n")
        self.assert_served("other.riegeli", "disk.riegeli")
        self.assert_known("slow.riegeli/")
        self.assert_finished(readers)

    def test_directory_that_is_stopped_holds_up_no_other(self):
        self.mounted = self.mount(self.slow, self.other, self.disk)
        self.assert_answers("ls", "slow/slow.riegeli/records")
        self.stop_source()
        waiting = [self.start("stat", f"slow/{i}") for i in range(READERS // 2)]
        waiting += [self.start("ls", "slow") for _ in range(READERS // 2)]
        self.assert_waits(waiting[0], 1)
        self.assertEqual(self.assert_answers("ls"), "disk.riegeli\nslow\nslow2\n")
        self.assert_served("slow2/other.riegeli", "disk.riegeli")
        for running in waiting:
            self.assert_interrupted_at_once(running)

    def test_directory_that_is_stopped_keeps_no_file_of_another_open(self):
        kept = 32  # files that stay open in a mount
        for folder, count in (("backing", kept), ("files", 3 * kept)):
            (self.folder / folder).mkdir(exist_ok=True)
            for i in range(count):
                (self.folder / folder / f"{i}.txt").write_text("plain")
        self.mounted = self.mount(self.slow, self.folder / "files")
        self.assert_answers("cat", *[f"slow/{i}.txt" for i in range(kept)])
        self.stop_source()
        self.assert_answers("cat", *[f"files/{i}.txt" for i in range(3 * kept)])
        mounting.wait_for(lambda: mounting.open_files(self.mounted.daemon.pid, self.folder / "files") <= kept, "files to be closed")

    def test_mount_below_a_directory_of_the_disk_is_stopped(self):
        above = self.folder / "above"
        (above / "below").mkdir(parents=True)
        shutil.copy(self.disk, above)
        self.enter(mounting.started(mounting.program("slowfs"), self.folder / "backing", above / "below"))
        mounting.wait_for(lambda: str(above / "below") in mounting.mounts(), "slowfs")
        self.addCleanup(mounting.run, "fusermount3", "-u", "-z", above / "below")
        self.mounted = self.mount(above)
        self.assert_answers("ls", "below/slow.riegeli/records")
        self.stop_source()
        waiting = [self.start("ls", "below") for _ in range(READERS)]
        self.assert_waits(waiting[0], 1)
        self.assertEqual(self.assert_answers("ls"), "below\ndisk.riegeli\n")
        self.assert_served("disk.riegeli")
        for running in waiting:
            self.assert_interrupted_at_once(running)

    def test_who_stands_in_a_container_is_served(self):
        self.mounted = self.mount(self.slow)
        self.look_at_everything("slow.riegeli/")
        # It has gone there before: each step of a path is looked up in the source.
        inside = self.mounted.point / "slow.riegeli"
        words = ["sh", "-c", "read go; sha256sum records/00000000000 && cat info.json && ls records | wc -l"]
        shell = self.enter(mounting.started(*words, cwd=inside, stdin=subprocess.PIPE))
        self.stop_source()
        output, complaint = shell.communicate(b"go\n", timeout=AT_ONCE)
        self.assertEqual((shell.returncode, complaint), (0, b""))
        self.assertTrue(output.decode().startswith(mounting.expectation(SAMPLE)["sample"][0]["sha256"]))
        self.assertTrue(output.endswith(b"}\n%d\n" % RECORDS))


class Ending(StoppedSource):
    def environment(self, user=None):
        changed = super().environment(user)
        # A daemon that ends without waiting for a source leaves threads that wait for it.
        changed["TSAN_OPTIONS"] += ":report_thread_leaks=0"
        return changed

    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.source)
        self.look_at_everything()
        self.stop_source()
        self.readers = self.start_readers()

    def assert_ends(self):
        """Without the source: the mount point is free at once, and the daemon and the readers end a while later."""
        mounting.wait_for(lambda: not self.mounted.is_mounted(), "the mount's end", AT_ONCE)
        self.mounted.wait_for_log("a source does not answer: ended without waiting for it")
        for reader in self.readers:
            self.assertNotEqual(reader.wait(AT_ONCE), 0)
        # The kernel lets no process end before the files that it has open are flushed.
        self.restart_source()
        self.assertEqual(self.mounted.wait(), 0)

    def test_signal_frees_the_mount_point(self):
        self.mounted.send(signal.SIGTERM)
        self.assert_ends()

    def test_lazy_unmount_and_the_end_of_the_readers(self):
        self.assertEqual(mounting.run("fusermount3", "-u", "-z", self.mounted.point).returncode, 0)
        for reader in self.readers:
            reader.kill()
        self.assert_ends()


if __name__ == "__main__":
    mounting.main()
