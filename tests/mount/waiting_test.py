#!/usr/bin/env python3
"""Requests that wait for the catalog: they are interrupted at once, and hold up nobody else.

The source lies on a file system whose reads can be held up, so the catalog stands still for as long as a case likes.
"""
import os
import signal
import threading
import time

import mounting
import slow

SAMPLE = "riegeli/multiblock_zstd.riegeli"
RECORDS = 1250
HELD = 49207  # a byte behind the begin of a chunk, so that chunks are known whole or not at all
AT_ONCE = 5  # seconds in which what does not wait has come, on a busy machine too


class SlowSource(mounting.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "backing").mkdir()
        self.copy(SAMPLE, "backing/slow.riegeli")
        self.file_system = slow.FileSystem(self)
        self.slow = self.file_system.point
        time.sleep(0.05)  # the ends of a file that was written this moment are read again and again

    def hold_reads_beyond(self, position):
        self.file_system.hold_reads_beyond(position)

    def open_gate(self):
        self.file_system.open_gate()

    def start(self, *command):
        running = self.enter(mounting.started(*command, cwd=self.mounted.point))
        self.addCleanup(self.open_gate)
        return running

    def assert_waits(self, running, seconds=0.3):
        time.sleep(seconds)
        self.assertIsNone(running.poll(), "it should wait")

    def assert_answers(self, *command):
        done = mounting.run(*command, cwd=self.mounted.point, timeout=AT_ONCE)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def assert_interrupted_at_once(self, running, number=signal.SIGINT):
        begun = time.monotonic()
        running.send_signal(number)
        self.assertEqual(running.wait(AT_ONCE), -number)
        return time.monotonic() - begun


class Waiting(SlowSource):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.slow / "slow.riegeli")

    def test_listing_is_interrupted(self):
        self.hold_reads_beyond(HELD)
        listing = self.start("ls", "-U", "records")
        self.assert_waits(listing)
        self.assert_interrupted_at_once(listing)

    def test_each_kind_of_waiting_is_interrupted(self):
        self.hold_reads_beyond(HELD)
        for command in [("stat", "records/999999"), ("cat", "streams/concat"), ("cat", "index/chunks.tsv"), ("ls", "damage/"),
                        ("ls", "thousands/"), ("cat", "index/summary.json"), ("ls", "chunks/"), ("stat", "records/1249")]:
            with self.subTest(command=command):
                running = self.start(*command)
                self.assert_waits(running)
                self.assert_interrupted_at_once(running)

    def test_waiting_is_ended_by_every_deadly_signal(self):
        self.hold_reads_beyond(HELD)
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP):
            running = self.start("stat", "records/999999")
            self.assert_waits(running)
            self.assert_interrupted_at_once(running, number)

    def test_many_are_interrupted_and_the_catalog_goes_on(self):
        self.hold_reads_beyond(HELD)
        for _ in range(20):
            crowd = [self.start("stat", f"records/{999000 + i}") for i in range(5)]
            for running in crowd:
                running.send_signal(signal.SIGINT)
            self.assertEqual({running.wait(AT_ONCE) for running in crowd}, {-signal.SIGINT})
        self.open_gate()
        self.assertEqual(len(os.listdir(self.mounted / "records")), RECORDS)

    def test_interrupts_and_answers_race(self):
        """Signals that come while the catalog gets where they wait."""
        for i in range(15):
            mounted = self.mount(self.slow / "slow.riegeli")
            self.hold_reads_beyond(HELD)
            crowd = [self.enter(mounting.started("stat", mounted / f"records/{1200 + k}")) for k in range(6)]
            time.sleep(0.01 * (i % 5))
            self.open_gate()
            for running in crowd:
                running.send_signal(signal.SIGINT)
            for running in crowd:
                self.assertIn(running.wait(mounting.PATIENCE), (0, -signal.SIGINT))
            self.assertEqual(mounted.unmount(), 0)

    def test_neighbour_reads_a_chunk_meanwhile(self):
        begins = [chunk["begin"] for chunk in mounting.expectation(SAMPLE)["chunks"] if chunk["num_records"]]
        self.hold_reads_beyond(HELD)
        listing = self.start("ls", "-U", "records")
        self.assert_waits(listing)
        first = self.assert_answers("sha256sum", f"chunks/{begins[0]:015}/records/000000")
        self.assertTrue(first.startswith(mounting.expectation(SAMPLE)["sample"][0]["sha256"]))
        self.assertIsNone(listing.poll())
        self.open_gate()
        self.assertEqual(listing.wait(mounting.PATIENCE), 0)

    def test_neighbour_looks_up_in_the_same_directory(self):
        """The kernel was told FUSE_PARALLEL_DIROPS, or the second lookup would wait for the first one's lock."""
        self.hold_reads_beyond(HELD)
        waiting = self.start("stat", "records/999999")
        self.assert_waits(waiting)
        shown = self.assert_answers("stat", "-c", "%s", "records/0", "records/000000007")
        self.assertEqual(shown.split()[0], str(mounting.expectation(SAMPLE)["sample"][0]["size"]))
        self.assertIsNone(waiting.poll())
        self.open_gate()
        self.assertEqual(waiting.wait(mounting.PATIENCE), 1)

    def test_neighbour_lists_while_a_lookup_waits(self):
        self.hold_reads_beyond(HELD)
        waiting = self.start("stat", "records/999999")
        self.assert_waits(waiting)
        first = "import os; print(next(entry.name for entry in os.scandir('records')))"
        self.assertEqual(self.assert_answers("python3", "-c", first), "000000000\n")
        self.assertIn("info.json", self.assert_answers("ls"))

    def test_info_is_read_before_any_walk(self):
        self.hold_reads_beyond(HELD)
        self.assertIn('"riegeli"', self.assert_answers("cat", "info.json"))
        self.assertIn("records", self.assert_answers("ls", "-la"))

    def test_records_that_the_catalog_has_passed_are_served(self):
        self.hold_reads_beyond(HELD)
        waiting = self.start("stat", "records/999999")
        self.assert_waits(waiting)
        for ordinal in (0, 50, 100):
            self.assert_answers("cat", f"records/{ordinal}")

    def test_more_wait_than_there_are_threads(self):
        self.hold_reads_beyond(HELD)
        crowd = [self.start("stat", f"records/{1000 + i}") for i in range(40)]
        self.assert_waits(crowd[0], 1)
        self.assert_answers("cat", "info.json")
        self.assert_answers("stat", "records/3")
        self.open_gate()
        self.assertEqual([running.wait(mounting.PATIENCE) for running in crowd], [0] * 40)

    def test_all_who_waited_get_the_same(self):
        self.hold_reads_beyond(HELD)
        found = []
        readers = [threading.Thread(target=lambda: found.append((self.mounted / "streams/concat").read_bytes())) for _ in range(8)]
        for reader in readers:
            reader.start()
        time.sleep(0.2)
        self.open_gate()
        for reader in readers:
            reader.join(mounting.PATIENCE)
        self.assertEqual((len(found), len(set(found))), (8, 1))

    def test_daemon_ends_while_somebody_waits(self):
        self.hold_reads_beyond(HELD)
        waiting = self.start("stat", "records/999999")
        self.assert_waits(waiting)
        self.mounted.send(signal.SIGTERM)
        time.sleep(0.3)
        self.open_gate()
        self.assertEqual(self.mounted.wait(), 0)
        self.assertEqual(waiting.wait(mounting.PATIENCE), 1)


class WaitingInAMirror(SlowSource):
    """A container that nobody uses any more is closed, but not while somebody waits for it."""

    MORE = 150
    KEPT_OPEN = 64

    def setUp(self):
        super().setUp()
        for number in range(self.MORE):
            self.copy("bloscpack/v2-2.blp", f"backing/{number}")
        self.mounted = self.mount(self.slow)
        os.listdir(self.mounted / "slow.riegeli")
        self.hold_reads_beyond(HELD)

    def look_into_others(self):
        for number in range(self.MORE):
            self.assert_answers("ls", f"{number}/records")

    def test_listing_waits_while_others_are_looked_into(self):
        listing = self.start("ls", "-U", "slow.riegeli/records")
        self.assert_waits(listing)
        self.look_into_others()
        self.assert_waits(listing)
        mounting.wait_for(lambda: mounting.open_files(self.mounted.daemon.pid, self.slow) <= self.KEPT_OPEN + 1, "the others to be closed")
        self.open_gate()
        self.assertEqual(len(listing.communicate(timeout=mounting.PATIENCE)[0].split()), RECORDS)

    def test_listing_is_interrupted_behind_others(self):
        listing = self.start("ls", "-U", "slow.riegeli/records")
        self.assert_waits(listing)
        self.look_into_others()
        self.assert_interrupted_at_once(listing)
        self.look_into_others()
        self.open_gate()
        self.assertEqual(len(os.listdir(self.mounted / "slow.riegeli/records")), RECORDS)

    def test_unmounting_ends_what_waits(self):
        listing = self.start("ls", "-U", "slow.riegeli/records")
        self.assert_waits(listing)
        self.look_into_others()
        self.mounted.send(signal.SIGTERM)
        listing.wait(AT_ONCE)
        self.open_gate()
        self.assertEqual(self.mounted.wait(), 0)


if __name__ == "__main__":
    mounting.main()
