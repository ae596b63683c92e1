#!/usr/bin/env python3
"""Requests that wait for the catalog are interrupted at once, and do not delay others.

The source is on slowfs, which can stop reads, so that the catalog does not advance.
"""
import os
import signal
import threading
import time

import mounting
import slow

SAMPLE = "riegeli/multiblock_zstd.riegeli"
RECORDS = 1250
HELD = 49207  # in the first bytes of a chunk, so that each chunk is either readable or not
AT_ONCE = 30  # seconds within which a request that does not wait is answered, even on a very busy machine


class SlowSource(mounting.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "backing").mkdir()
        self.copy(SAMPLE, "backing/slow.riegeli")
        self.file_system = slow.FileSystem(self)
        self.slow = self.file_system.point
        time.sleep(0.05)  # the ends of a file written just now are read repeatedly

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

    def test_each_kind_of_waiting_request_is_interrupted(self):
        self.hold_reads_beyond(HELD)
        for command in [("stat", "records/999999"), ("cat", "streams/concat"), ("cat", "index/chunks.tsv"), ("ls", "damage/"),
                        ("ls", "thousands/"), ("cat", "index/summary.json"), ("ls", "chunks/"), ("stat", "records/1249")]:
            with self.subTest(command=command):
                running = self.start(*command)
                self.assert_waits(running)
                self.assert_interrupted_at_once(running)

    def test_each_fatal_signal_ends_a_waiting_request(self):
        self.hold_reads_beyond(HELD)
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP):
            running = self.start("stat", "records/999999")
            self.assert_waits(running)
            self.assert_interrupted_at_once(running, number)

    def test_catalog_advances_after_many_interrupts(self):
        self.hold_reads_beyond(HELD)
        for _ in range(20):
            processes = [self.start("stat", f"records/{999000 + i}") for i in range(5)]
            for running in processes:
                running.send_signal(signal.SIGINT)
            self.assertEqual({running.wait(AT_ONCE) for running in processes}, {-signal.SIGINT})
        self.open_gate()
        self.assertEqual(len(os.listdir(self.mounted / "records")), RECORDS)

    def test_interrupts_race_with_replies(self):
        """Signals arrive while the catalog reaches the records that are waited for."""
        for i in range(15):
            mounted = self.mount(self.slow / "slow.riegeli")
            self.hold_reads_beyond(HELD)
            processes = [self.enter(mounting.started("stat", mounted / f"records/{1200 + k}")) for k in range(6)]
            time.sleep(0.01 * (i % 5))
            self.open_gate()
            for running in processes:
                running.send_signal(signal.SIGINT)
            for running in processes:
                self.assertIn(running.wait(mounting.PATIENCE), (0, -signal.SIGINT))
            self.assertEqual(mounted.unmount(), 0)

    def test_chunk_is_read_while_a_listing_waits(self):
        begins = [chunk["begin"] for chunk in mounting.expectation(SAMPLE)["chunks"] if chunk["num_records"]]
        self.hold_reads_beyond(HELD)
        listing = self.start("ls", "-U", "records")
        self.assert_waits(listing)
        first = self.assert_answers("sha256sum", f"chunks/{begins[0]:015}/records/000000")
        self.assertTrue(first.startswith(mounting.expectation(SAMPLE)["sample"][0]["sha256"]))
        self.assertIsNone(listing.poll())
        self.open_gate()
        self.assertEqual(listing.wait(mounting.PATIENCE), 0)

    def test_lookup_in_the_same_directory_is_answered_while_a_lookup_waits(self):
        """Needs FUSE_PARALLEL_DIROPS: otherwise the kernel holds the directory's lock during a lookup."""
        self.hold_reads_beyond(HELD)
        waiting = self.start("stat", "records/999999")
        self.assert_waits(waiting)
        shown = self.assert_answers("stat", "-c", "%s", "records/0", "records/000000007")
        self.assertEqual(shown.split()[0], str(mounting.expectation(SAMPLE)["sample"][0]["size"]))
        self.assertIsNone(waiting.poll())
        self.open_gate()
        self.assertEqual(waiting.wait(mounting.PATIENCE), 1)

    def test_listing_is_answered_while_a_lookup_waits(self):
        self.hold_reads_beyond(HELD)
        waiting = self.start("stat", "records/999999")
        self.assert_waits(waiting)
        first = "import os; print(next(entry.name for entry in os.scandir('records')))"
        self.assertEqual(self.assert_answers("python3", "-c", first), "000000000\n")
        self.assertIn("info.json", self.assert_answers("ls"))

    def test_more_requests_than_threads_can_wait(self):
        self.hold_reads_beyond(HELD)
        processes = [self.start("stat", f"records/{1000 + i}") for i in range(40)]
        self.assert_waits(processes[0], 1)
        self.assert_answers("cat", "info.json")
        self.assert_answers("stat", "records/3")
        self.open_gate()
        self.assertEqual([running.wait(mounting.PATIENCE) for running in processes], [0] * 40)

    def test_all_waiting_readers_get_the_same_bytes(self):
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

    def test_daemon_ends_while_a_request_waits(self):
        self.hold_reads_beyond(HELD)
        waiting = self.start("stat", "records/999999")
        self.assert_waits(waiting)
        self.mounted.send(signal.SIGTERM)
        time.sleep(0.3)
        self.open_gate()
        self.assertEqual(self.mounted.wait(), 0)
        self.assertEqual(waiting.wait(mounting.PATIENCE), 1)


class WaitingInAMirror(SlowSource):
    """An unused container is closed, but not while a request waits for it."""

    MORE = 150
    KEPT_OPEN = 64

    def setUp(self):
        super().setUp()
        for number in range(self.MORE):
            self.copy("bloscpack/v2-2.blp", f"backing/{number}")
        self.mounted = self.mount(self.slow)
        os.listdir(self.mounted / "slow.riegeli")
        self.hold_reads_beyond(HELD)

    def read_other_containers(self):
        for number in range(self.MORE):
            self.assert_answers("ls", f"{number}/records")

    def test_listing_waits_while_other_containers_are_read(self):
        listing = self.start("ls", "-U", "slow.riegeli/records")
        self.assert_waits(listing)
        self.read_other_containers()
        self.assert_waits(listing)
        mounting.wait_for(lambda: mounting.open_files(self.mounted.daemon.pid, self.slow) <= self.KEPT_OPEN + 1, "the others to be closed")
        self.open_gate()
        self.assertEqual(len(listing.communicate(timeout=mounting.PATIENCE)[0].split()), RECORDS)

    def test_listing_is_interrupted_after_other_containers_were_read(self):
        listing = self.start("ls", "-U", "slow.riegeli/records")
        self.assert_waits(listing)
        self.read_other_containers()
        self.assert_interrupted_at_once(listing)
        self.read_other_containers()
        self.open_gate()
        self.assertEqual(len(os.listdir(self.mounted / "slow.riegeli/records")), RECORDS)

    def test_signal_ends_a_waiting_listing(self):
        listing = self.start("ls", "-U", "slow.riegeli/records")
        self.assert_waits(listing)
        self.read_other_containers()
        self.mounted.send(signal.SIGTERM)
        listing.wait(AT_ONCE)
        self.open_gate()
        self.assertEqual(self.mounted.wait(), 0)


if __name__ == "__main__":
    mounting.main()
