#!/usr/bin/env python3
"""200 processes that read at once: each gets the right bytes, and no file stays open."""
import multiprocessing
import os
import traceback
from pathlib import Path

import mounting
import waiting_test

READERS = 200
PATHS = ["records/{ordinal:09}", "records/{ordinal}", ".views/thousands/{thousand:06}/{ordinal:09}", "chunks/{begin:015}/records/{index:06}",
         "chunks/{begin}/data", "streams/concat", "streams/lines"]


class Many(waiting_test.SlowSource):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.slow / "slow.riegeli", options=["cache_size=64K"])

    def expected(self):
        """Yields (path, bytes) for each reader, from an undelayed mount."""
        top = self.mount(mounting.sample(waiting_test.SAMPLE)).point
        chunks = [chunk for chunk in mounting.expectation(waiting_test.SAMPLE)["chunks"] if chunk["num_records"]]
        for reader in range(READERS):
            chunk = chunks[reader % len(chunks)]
            index = reader % chunk["num_records"]
            ordinal = sum(other["num_records"] for other in chunks if other["begin"] < chunk["begin"]) + index
            path = PATHS[reader % len(PATHS)].format(ordinal=ordinal, thousand=ordinal // 1000, begin=chunk["begin"], index=index)
            yield path, (top / path).read_bytes()

    def read_all_at_once(self):
        """Starts all readers while the source is stopped, so that none ends before the last has started."""
        fork = multiprocessing.get_context("fork")
        begun, wrong = fork.Semaphore(0), fork.Queue()
        readers = [fork.Process(target=read, args=(self.mounted / path, want, begun, wrong)) for path, want in self.expected()]
        self.hold_reads_beyond(0)
        for reader in readers:
            reader.start()
        for _ in readers:
            self.assertTrue(begun.acquire(timeout=mounting.PATIENCE))
        self.open_gate()
        for reader in readers:
            reader.join(mounting.PATIENCE)
        self.assertEqual({reader.exitcode for reader in readers}, {0}, [] if wrong.empty() else wrong.get())

    def threads(self):
        return len(os.listdir(f"/proc/{self.mounted.daemon.pid}/task"))

    def open_files(self):
        return sorted(os.readlink(path) for path in Path(f"/proc/{self.mounted.daemon.pid}/fd").iterdir())

    def test_each_reader_gets_its_bytes_and_no_file_stays_open(self):
        self.read_all_at_once()
        files = self.open_files()
        self.mounted.send(mounting.signal.SIGUSR1)
        self.mounted.wait_for_log("requests: ")
        self.read_all_at_once()
        self.assertEqual(self.open_files(), files)
        self.assertEqual(self.mounted.unmount(), 0)

    def test_last_reader_is_served_when_all_others_are_killed(self):
        fork = multiprocessing.get_context("fork")
        begun, wrong = fork.Semaphore(0), fork.Queue()
        expected = list(self.expected())
        readers = [fork.Process(target=read, args=(self.mounted / path, want, begun, wrong)) for path, want in expected]
        self.hold_reads_beyond(waiting_test.HELD)
        for reader in readers:
            reader.start()
        for _ in readers:
            self.assertTrue(begun.acquire(timeout=mounting.PATIENCE))
        for reader in readers[:-1]:
            reader.kill()
        self.open_gate()
        for reader in readers:
            reader.join(mounting.PATIENCE)
        self.assertEqual(readers[-1].exitcode, 0)
        for path, want in expected:
            self.assertEqual((self.mounted / path).read_bytes(), want, path)
        self.assertEqual(self.mounted.unmount(), 0)


def read(path, want, begun, wrong):
    """The body of each process: exits with status 0 if the file has the wanted bytes."""
    try:
        begun.release()
        if path.read_bytes() != want:
            raise ValueError(f"{path}: other bytes")
    except (OSError, ValueError):
        wrong.put(traceback.format_exc())
        wrong.close()
        wrong.join_thread()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    mounting.main()
