#!/usr/bin/env python3
"""A source whose filesystem does not respond: cached content is still served, and so are other sources.

No test may start a program while it has a file of a stopped filesystem open: the child would close its copy, and block.
"""
import os
import shutil
import signal
import subprocess
import time

import mounting
import waiting_test
from waiting_test import AT_ONCE, RECORDS, SAMPLE

READERS = 16  # more than the daemon has threads
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
        self.file_system.stop()
        self.addCleanup(self.restart_source)

    def restart_source(self):
        self.file_system.restart()

    def start(self, *command):
        running = super().start(*command)
        self.addCleanup(self.restart_source)
        return running

    def start_readers(self, top=""):
        """Starts readers of uncached bytes, one for each chunk in turn."""
        readers = [self.start("sha256sum", f"{top}chunks/{self.CHUNKS[i % len(self.CHUNKS)]:015}/raw") for i in range(READERS)]
        self.assert_waits(readers[0], 1)
        return readers

    def assert_finished(self, readers):
        """Restarts the source. All readers then get the bytes of the file."""
        self.restart_source()
        first = {}
        for i, reader in enumerate(readers):
            output, complaint = reader.communicate(timeout=mounting.PATIENCE)
            self.assertEqual((reader.returncode, complaint), (0, b""))
            self.assertEqual(first.setdefault(i % len(self.CHUNKS), output), output)
        self.assertEqual(len(set(first.values())), len(first))

    def cache_everything(self, top=""):
        """Reads everything that assert_cached_is_served() reads, and the names of the chunks."""
        for path in ("", "records", "chunks/", "thousands/", "index/"):
            self.assert_answers("ls", "-l", f"{top}{path or '.'}")
        for begin in self.CHUNKS:
            self.assert_answers("stat", f"{top}chunks/{begin:015}/raw")
        for name in ("records/0", "records/1249", "info.json", "index/summary.json", "index/chunks.tsv"):
            self.assert_answers("cat", f"{top}{name}")

    def assert_cached_is_served(self, top=""):
        """Uses names that the kernel has not cached, and drops pages, so that the requests reach the daemon."""
        self.rounds = getattr(self, "rounds", 0) + 1
        first = mounting.expectation(SAMPLE)["sample"][0]["sha256"]
        name = "0" * (10 + self.rounds)
        self.assertTrue(self.assert_answers("sha256sum", f"{top}records/{name}").startswith(first))
        self.assertIn("records", self.assert_answers("ls", f"{top}."))
        self.assertEqual(len(self.assert_answers("ls", "-l", f"{top}records").splitlines()), RECORDS + 1)
        for file in ("info.json", "index/summary.json", "index/chunks.tsv", "records/000000000", "records/000001249"):
            self.assertNotEqual(self.assert_answers("python3", "-c", DROP_PAGES, f"{top}{file}"), "")
        self.assertEqual(self.assert_answers("readlink", f"{top}thousands/{self.rounds * '0'}1"), "000001\n")
        self.assert_answers("stat", "--file-system", f"{top}.")


class OneContainer(StoppedSource):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.source)
        self.assert_answers("stat", ".")  # reads of the sources while mounting have ended

    def test_cached_content_is_served_while_more_readers_wait_than_threads_exist(self):
        self.cache_everything()
        self.stop_source()
        readers = self.start_readers()
        self.assert_cached_is_served()
        self.assert_finished(readers)

    def test_cached_content_is_served_by_a_single_thread(self):
        self.mounted = self.mount(self.source, flags=["-f", "-s"])
        self.cache_everything()
        self.stop_source()
        readers = self.start_readers()
        self.assert_cached_is_served()
        self.assert_finished(readers)

    def test_requests_that_need_the_source_are_interrupted_at_once(self):
        self.cache_everything()
        self.stop_source()
        for command in (("stat", f"chunks/{self.CHUNKS[1]:015}/info.json"), ("stat", "records/700.json")):
            with self.subTest(command=command):
                running = self.start(*command)
                self.assert_waits(running)
                self.assert_interrupted_at_once(running)
        self.assert_cached_is_served()

    def test_reader_of_a_source_truncated_meanwhile_gets_an_error(self):
        self.cache_everything()
        self.stop_source()
        reader = self.start("cat", f"chunks/{self.CHUNKS[-1]:015}/raw")
        self.assert_waits(reader)
        os.truncate(self.folder / "backing/slow.riegeli", self.CHUNKS[-1])
        self.assert_cached_is_served()
        self.restart_source()
        output, complaint = reader.communicate(timeout=mounting.PATIENCE)
        self.assertEqual((reader.returncode, output), (1, b""))
        self.assertIn(b"Input/output error", complaint)


class SeveralSources(StoppedSource):
    """One filesystem is stopped. Another slowfs and the disk still respond."""

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

    def test_other_sources_are_served_while_more_readers_wait_than_threads_exist(self):
        self.mounted = self.mount(self.source, self.other / "other.riegeli", self.disk)
        self.cache_everything("slow.riegeli/")
        self.stop_source()
        readers = self.start_readers("slow.riegeli/")
        self.assertEqual(self.assert_answers("ls"), "disk.riegeli\nother.riegeli\nslow.riegeli\n")
        self.assert_served("other.riegeli", "disk.riegeli")
        self.assert_cached_is_served("slow.riegeli/")
        self.assert_finished(readers)

    def test_stopped_directory_does_not_delay_other_sources(self):
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

    def test_stopped_directory_does_not_keep_files_of_another_open(self):
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

    def test_stopped_mount_in_a_directory_source_does_not_delay_the_rest(self):
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

    def test_a_shell_inside_a_container_is_served_while_its_source_hangs(self):
        self.mounted = self.mount(self.slow)
        self.cache_everything("slow.riegeli/")
        # The shell enters before the source stops: each step of a path is looked up in the source.
        inside = self.mounted.point / "slow.riegeli"
        words = ["sh", "-c", "read go; sha256sum records/00000000000 && cat info.json && ls records | wc -l"]
        shell = self.enter(mounting.started(*words, cwd=inside, stdin=subprocess.PIPE))
        self.stop_source()
        output, complaint = shell.communicate(b"go\n", timeout=AT_ONCE)
        self.assertEqual((shell.returncode, complaint), (0, b""))
        self.assertTrue(output.decode().startswith(mounting.expectation(SAMPLE)["sample"][0]["sha256"]))
        self.assertTrue(output.endswith(b"}\n%d\n" % RECORDS))


class Abandoning(StoppedSource):
    def environment(self, user=None):
        changed = super().environment(user)
        # A daemon that ends without waiting for its source leaves threads.
        changed["TSAN_OPTIONS"] += ":report_thread_leaks=0"
        return changed


class EndingDuringAScan(Abandoning):
    def test_signal_ends_the_daemon(self):
        self.mounted = self.mount(self.source)
        self.hold_reads_beyond(waiting_test.HELD)
        self.assert_waits(self.start("ls", "records"), 1)
        self.mounted.send(signal.SIGTERM)
        self.mounted.wait_for_log("a source does not answer: exiting without waiting for it")
        self.open_gate()
        self.assertEqual(self.mounted.wait(), 0)


class Ending(Abandoning):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.source)
        self.cache_everything()
        self.stop_source()
        self.readers = self.start_readers()

    def assert_ends(self):
        """The mount is unmounted at once, without the source. Daemon and readers end a little later."""
        mounting.wait_for(lambda: not self.mounted.is_mounted(), "the mount's end", AT_ONCE)
        self.mounted.wait_for_log("a source does not answer: exiting without waiting for it")
        for reader in self.readers:
            self.assertNotEqual(reader.wait(AT_ONCE), 0)
        # Linux flushes the open files of a process before it ends.
        self.restart_source()
        self.assertEqual(self.mounted.wait(), 0)

    def test_signal_unmounts(self):
        self.mounted.send(signal.SIGTERM)
        self.assert_ends()

    def test_lazy_unmount_ends_the_daemon_when_its_readers_have_ended(self):
        self.assertEqual(mounting.run("fusermount3", "-u", "-z", self.mounted.point).returncode, 0)
        for reader in self.readers:
            reader.kill()
        self.assert_ends()


if __name__ == "__main__":
    mounting.main()
