#!/usr/bin/env python3
"""Files that are made to exhaust whoever reads them: memory stays in bounds, and other files are served meanwhile."""
import contextlib
import json
import os
import re
import stat
import sys
import threading
import time
from pathlib import Path

import mounting

sys.path.append(str(Path(__file__).resolve().parent.parent / "writers" / "hostile"))
import files  # noqa: E402

LARGEST_CHUNK = 32 << 20
CACHE = 16 << 20
OPTIONS = (f"max_chunk={LARGEST_CHUNK >> 20}M,cache_size={CACHE >> 20}M,threads=2,index=no",)
# What the daemon may take beside the limits that it was given: itself, with the tables of its catalogs.
ITSELF = 64 << 20
# A chunk as it is stored and as it is decoded, what a codec needs for it, and the cache.
MOST_MEMORY = 3 * LARGEST_CHUNK + CACHE + ITSELF
SANITIZER_FACTOR = 6  # shadow memory, and what was freed and is kept for a while

MOST_ENTRIES = 200        # of a directory
MOST_BYTES = 64 << 20     # of a file
PIECE = 1 << 20
GOOD = "riegeli/multiblock_zstd.riegeli"


def is_sanitized():
    program = Path(mounting.program("recordfs")).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def read_all(path):
    """Reads on behind what fails. Returns how many reads failed."""
    failures = 0
    with path.open("rb", buffering=0) as file:
        for at in range(0, min(os.fstat(file.fileno()).st_size, MOST_BYTES), PIECE):
            try:
                os.pread(file.fileno(), PIECE, at)
            except OSError:
                failures += 1
    return failures


def walk(top, depth=0):
    """Lists, asks and reads all of a tree, as far as it is not too much of one kind. Returns how many nodes it has seen."""
    seen = 0
    try:
        with os.scandir(top) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MOST_ENTRIES))]
    except OSError:
        return 1
    for name in sorted(names):
        path = top / name
        seen += 1
        with contextlib.suppress(OSError):
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) and depth < 5:
                seen += walk(path, depth + 1)
            elif stat.S_ISREG(mode):
                read_all(path)
    return seen


class Beside(mounting.Case):
    """Hostile files in a mirrored directory, and a good one beside them."""

    def setUp(self):
        super().setUp()
        self.source = self.folder / "source"
        self.source.mkdir()
        self.copy(GOOD, self.source / "good.riegeli")
        reference = self.mount(mounting.sample(GOOD))
        self.good = [(name, (reference / "records" / name).read_bytes())
                     for name in sorted(os.listdir(reference / "records"))]
        self.assertEqual(reference.unmount(), 0)

    def mounted(self):
        return self.mount(self.source, options=OPTIONS)

    def most_memory(self, mounted):
        """The daemon's resident memory at its highest, in bytes."""
        status = Path(f"/proc/{mounted.daemon.pid}/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE).group(1))

    def assert_in_bounds(self, mounted, bound, what):
        most = self.most_memory(mounted)
        self.assertLess(most, bound * (SANITIZER_FACTOR if is_sanitized() else 1), what)
        return most

    def walk_beside_a_reader(self, mounted, path):
        """Walks through a hostile container while somebody reads a good one. Returns how many nodes there were."""
        seen = []
        walker = threading.Thread(target=lambda: seen.append(walk(path)), daemon=True)
        walker.start()
        answered = 0
        while walker.is_alive() or answered == 0:
            self.read_a_good_record(mounted, answered)
            answered += 1
            walker.join(0.01 if answered < 10 else 0.2)
        self.assertEqual(len(seen), 1, f"the walk through {path} did not end well")
        return seen[0]

    def read_a_good_record(self, mounted, number):
        """One that was not read before, as long as there is one, by its name and its bytes."""
        number %= len(self.good)
        self.assertEqual((mounted / "good.riegeli" / "records" / self.good[number][0]).read_bytes(), self.good[number][1])


class Attacks(Beside):
    def attack(self, hostile):
        for name, data in hostile.items():
            (self.source / name).write_bytes(data)
        mounted = self.mounted()
        nodes = 0
        for name in hostile:
            with self.subTest(file=name):
                self.assertTrue((mounted / name).is_dir(), "it was not even opened")
                nodes += self.walk_beside_a_reader(mounted, mounted / name)
                self.assert_in_bounds(mounted, MOST_MEMORY, name)
                self.assertIsNone(mounted.daemon.poll(), mounted.log())
        most = self.most_memory(mounted)
        self.assertEqual(mounted.unmount(), 0, mounted.log())
        print(f"{self.id().rsplit('.', 1)[1]}: {len(hostile)} attacks, {nodes} nodes, at most {most >> 20} MiB", flush=True)


for form in files.FORMATS:
    setattr(Attacks, f"test_{form}", lambda self, form=form: self.attack(files.FORMATS[form]()))


# Reads here and there, past what the kernel has kept, and tells of each read.
BOMB_READER = """
import itertools, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
for step in itertools.count():
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(file, 1, (step * 37 << 22) % (63 << 24))
    os.write(1, b".")
"""


class Bombs(Beside):
    """Readers of chunks that decode to nearly 1 GiB, with the options that a mount has by default."""

    SIZE = 63 << 24
    READERS = 16
    GOOD_FILES = 8
    GOOD_RECORDS = 20  # and a few, of each
    # A chunk as it is decoded, what the codec needs besides and what the kernel takes time to get back, the cache, and
    # what quick threads decode meanwhile.
    MOST_MEMORY = (1 << 30) + (256 << 20) + (64 << 20) + ITSELF

    def setUp(self):
        super().setUp()
        self.bombs = files.large(self.SIZE)
        for name, data in self.bombs.items():
            (self.source / name).write_bytes(data)
        for number in range(self.GOOD_FILES):
            self.copy(GOOD, self.source / f"good-{number}.riegeli")
        self.mounted = self.mount(self.source, options=("index=no",))
        self.paths = [self.mounted / name / path for name in self.bombs for path in ("records/000000001", "streams/concat")]

    def start_readers(self):
        readers = []
        for number in range(self.READERS):
            reader = self.enter(mounting.started(sys.executable, "-c", BOMB_READER, self.paths[number % len(self.paths)]))
            os.set_blocking(reader.stdout.fileno(), False)
            readers.append(reader)
        return readers

    def progress(self, readers):
        """How many reads have come to an end since the last time."""
        return sum(len(reader.stdout.read() or b"") for reader in readers)

    def end_readers(self, readers):
        for reader in readers:
            reader.kill()
        for reader in readers:
            self.assertEqual(reader.wait(mounting.PATIENCE), -signal.SIGKILL)

    def read_all_that_is_good(self):
        """Opens the good files, and reads what nobody has read before. Returns how many that were, and how long the longest
        took."""
        count = 0
        longest = 0
        for number in range(self.GOOD_FILES):
            for name, data in self.good[::len(self.good) // self.GOOD_RECORDS]:
                begin = time.monotonic()
                self.assertEqual((self.mounted / f"good-{number}.riegeli" / "records" / name).read_bytes(), data)
                longest = max(longest, time.monotonic() - begin)
                count += 1
        return count, longest

    def test_good_records_are_read_before_bombs_are(self):
        readers = self.start_readers()
        mounting.wait_for(lambda: self.progress(readers) > 0, "a bomb to be decoded")
        time.sleep(1)  # all of them wait by then
        self.progress(readers)
        count, longest = self.read_all_that_is_good()
        meanwhile = self.progress(readers)
        print(f"{count} good records, the longest in {1000 * longest:.0f} ms; {meanwhile} reads of bombs meanwhile", flush=True)
        # Who had to wait for a thread would have to wait for a bomb each time.
        self.assertLess(meanwhile, count)
        mounting.wait_for(lambda: self.most_memory(self.mounted) > self.SIZE, "all of a bomb to be in memory")
        for _ in range(self.READERS // 2):
            mounting.wait_for(lambda: self.progress(readers) > 0, "the bombs to be read on")
        self.end_readers(readers)
        most = self.assert_in_bounds(self.mounted, self.MOST_MEMORY, "bombs")
        self.assertEqual(self.mounted.unmount(), 0, self.mounted.log())
        print(f"at most {most >> 20} MiB", flush=True)

    def test_killed_readers_of_bombs_end_at_once(self):
        readers = self.start_readers()
        mounting.wait_for(lambda: self.progress(readers) > 0, "a bomb to be decoded")
        for reader in readers:
            reader.kill()
            self.assertEqual(reader.wait(mounting.PATIENCE), -signal.SIGKILL)
        self.assertEqual(self.mounted.unmount(), 0, self.mounted.log())


class Sizes(Beside):
    """Of nothing so much as of everything there is."""

    CHUNKS = 10_000_000
    REGIONS = (10_000, 1_000_000)
    MOST_ROWS = 65536   # of damage, that a catalog keeps
    MOST_LINES = 2000   # of the log
    RECORD = b"\x01\0\0\0x"

    def few(self, number):
        return number // 10 if is_sanitized() else number

    def summary(self, mounted, name):
        return json.loads((mounted / name / "index/summary.json").read_text(encoding="utf-8"))

    # One of each form, and of each that is searched in its own way.
    ENLARGED = ("array_record/group-10-zstd.array_record", "bloscpack/small/lz4.blp", "bloscpack/small/no-offsets.blp",
                "bloscpack/small/variable.blp", "leveldb_log/spec-abc.log", "leveldb_table/leveldb-snappy.ldb",
                "leveldb_table/rocksdb-none.sst", "proio/c03-example-none.proio", "proio/c25-gzip-0.proio",
                "recordio/legacy-unpacked-one.grail-rio", "recordio/v2-chunk-boundaries.grail-rio", GOOD,
                "tfrecord/large-record.tfrecord", "tfrecord/packed/runs.tfrecord.gz", "wandb/run-g9dvvkua.wandb")

    def test_a_sparse_file_of_1_tib(self):
        names = []
        for sample in self.ENLARGED:
            names.append(Path(sample).name)
            os.truncate(self.copy(sample, self.source / names[-1]), 1 << 40)
        mounted = self.mounted()
        for name in names:
            # The walk goes through all of the file, and over the hole at once.
            summary = self.summary(mounted, name)
            self.assertEqual(summary["size"], 1 << 40, name)
            listed = sorted(os.listdir(mounted / name / "records"))
            self.assertEqual(listed, [f"{ordinal:09}" for ordinal in range(summary["records"])], name)
            self.assertGreater(len(listed), 0, name)
            self.assertTrue((mounted / name / "records" / listed[0]).read_bytes(), name)
            rows = (mounted / name / "index/damage.tsv").read_text(encoding="utf-8").splitlines()[1:]
            self.assertEqual(len(rows), summary["damaged_regions"], name)
            self.read_a_good_record(mounted, 0)
            self.assert_in_bounds(mounted, MOST_MEMORY, name)
        self.assertEqual(mounted.unmount(), 0, mounted.log())

    def test_ten_million_chunks(self):
        chunks = self.few(self.CHUNKS)
        with (self.source / "many.proio").open("wb") as file:
            for _ in range(100):
                file.write(files.bucket(1, self.RECORD) * (chunks // 100))
        mounted = self.mounted()
        self.read_a_good_record(mounted, 0)
        summary = self.summary(mounted, "many.proio")
        self.assertEqual((summary["chunks"], summary["records"], summary["damaged_regions"]), (chunks, chunks, 0))
        for ordinal in (0, chunks // 3, chunks - 1):
            self.assertEqual((mounted / "many.proio/records" / f"{ordinal:09}").read_bytes(), b"x")
        most = self.assert_in_bounds(mounted, CACHE + ITSELF, "chunks")
        self.assertEqual(mounted.unmount(), 0, mounted.log())
        print(f"{chunks} chunks, at most {most >> 20} MiB", flush=True)

    def test_a_million_damaged_regions(self):
        broken = files.bucket(1, b"")[:20] + b"\xFF\xFF\xFF\xFF"
        for regions in map(self.few, self.REGIONS):
            with self.subTest(regions=regions):
                name = f"broken-{regions}.proio"
                with (self.source / name).open("wb") as file:
                    for _ in range(100):
                        file.write((files.bucket(1, self.RECORD) + broken) * (regions // 100))
                mounted = self.mount(self.source / name, self.source / "good.riegeli", options=OPTIONS)
                summary = self.summary(mounted, name)
                self.assertEqual((summary["records"], summary["damaged_regions"]), (regions, min(regions, self.MOST_ROWS)))
                rows = (mounted / name / "index/damage.tsv").read_text(encoding="utf-8").splitlines()[1:]
                self.assertEqual(len(rows), min(regions, self.MOST_ROWS))
                self.assertEqual(regions > self.MOST_ROWS, "too many regions" in rows[-1], rows[-1])
                self.assertEqual((mounted / name / "records" / f"{regions - 1:09}").read_bytes(), b"x")
                self.read_a_good_record(mounted, regions)
                self.assertLess(len(mounted.log().splitlines()), self.MOST_LINES)
                most = self.assert_in_bounds(mounted, CACHE + 2 * ITSELF, name)
                self.assertEqual(mounted.unmount(), 0)
                print(f"{regions} damaged regions, at most {most >> 20} MiB", flush=True)


if __name__ == "__main__":
    mounting.main()
