#!/usr/bin/env python3
"""Files with extreme amounts of bytes, chunks or damage."""
import json
import os
from pathlib import Path

import mounting
from built import is_thorough
from hostile import CACHE, GOOD, DAEMON_MEMORY, MAX_MEMORY, OPTIONS, HostileCase, files, is_sanitized


class Sizes(HostileCase):
    CHUNKS = 10_000_000 if is_thorough() else 5_000_000  # 16 bytes for each would exceed the limit
    REGIONS = (10_000, 1_000_000)
    MAX_ROWS = 65536  # of damage that a catalog keeps
    MAX_LINES = 2000  # of the log
    RECORD = b"\x01\0\0\0x"

    def scaled(self, number):
        return number // 10 if is_sanitized() else number

    def summary(self, mounted, name):
        return json.loads((mounted / name / "index/summary.json").read_text(encoding="utf-8"))

    # At least one of each format, and of each way to scan.
    ENLARGED = ("array_record/group-10-zstd.array_record", "bloscpack/small/lz4.blp", "bloscpack/small/no-offsets.blp",
                "bloscpack/small/variable.blp", "leveldb_log/spec-abc.log", "leveldb_table/leveldb-snappy.ldb",
                "leveldb_table/rocksdb-none.sst", "proio/c03-example-none.proio", "proio/c25-gzip-0.proio",
                "recordio/legacy-unpacked-one.grail-rio", "recordio/v2-chunk-boundaries.grail-rio", GOOD,
                "rocksdb_blob/rocksdb7-none.blob",
                "tfrecord/large-record.tfrecord", "tfrecord/packed/runs.tfrecord.gz", "wandb/run-g9dvvkua.wandb")

    def test_sparse_file_of_1_tib_is_readable(self):
        names = []
        for sample in self.ENLARGED:
            names.append(Path(sample).name)
            os.truncate(self.copy(sample, self.source / names[-1]), 1 << 40)
        mounted = self.mounted()
        for name in names:
            # Reads the summary, which waits for a scan over the hole to the end of the file.
            summary = self.summary(mounted, name)
            self.assertEqual(summary["size"], 1 << 40, name)
            listed = sorted(os.listdir(mounted / name / "records"))
            self.assertEqual(listed, [f"{ordinal:09}" for ordinal in range(summary["records"])], name)
            self.assertGreater(len(listed), 0, name)
            self.assertTrue((mounted / name / "records" / listed[0]).read_bytes(), name)
            rows = (mounted / name / "index/damage.tsv").read_text(encoding="utf-8").splitlines()[1:]
            self.assertEqual(len(rows), summary["damaged_regions"], name)
            self.read_a_good_record(mounted, 0)
            self.assert_in_bounds(mounted, MAX_MEMORY, name)
        self.assertEqual(mounted.unmount(), 0, mounted.log())

    def test_millions_of_chunks_are_readable_within_the_memory_limit(self):
        chunks = self.scaled(self.CHUNKS)
        with (self.source / "many.proio").open("wb") as file:
            for _ in range(100):
                file.write(files.bucket(1, self.RECORD) * (chunks // 100))
        mounted = self.mounted()
        self.read_a_good_record(mounted, 0)
        summary = self.summary(mounted, "many.proio")
        self.assertEqual((summary["chunks"], summary["records"], summary["damaged_regions"]), (chunks, chunks, 0))
        for ordinal in (0, chunks // 3, chunks - 1):
            self.assertEqual((mounted / "many.proio/records" / f"{ordinal:09}").read_bytes(), b"x")
        peak = self.assert_in_bounds(mounted, CACHE + DAEMON_MEMORY, "chunks")
        self.assertEqual(mounted.unmount(), 0, mounted.log())
        print(f"{chunks} chunks, at most {peak >> 20} MiB", flush=True)

    def test_million_damaged_regions_are_bounded_in_log_and_memory(self):
        broken = files.bucket(1, b"")[:20] + b"\xFF\xFF\xFF\xFF"
        for regions in map(self.scaled, self.REGIONS):
            with self.subTest(regions=regions):
                name = f"broken-{regions}.proio"
                with (self.source / name).open("wb") as file:
                    for _ in range(100):
                        file.write((files.bucket(1, self.RECORD) + broken) * (regions // 100))
                mounted = self.mount(self.source / name, self.source / "good.riegeli", options=OPTIONS)
                summary = self.summary(mounted, name)
                self.assertEqual((summary["records"], summary["damaged_regions"]), (regions, min(regions, self.MAX_ROWS)))
                rows = (mounted / name / "index/damage.tsv").read_text(encoding="utf-8").splitlines()[1:]
                self.assertEqual(len(rows), min(regions, self.MAX_ROWS))
                self.assertEqual(regions > self.MAX_ROWS, "too many regions" in rows[-1], rows[-1])
                self.assertEqual((mounted / name / "records" / f"{regions - 1:09}").read_bytes(), b"x")
                self.read_a_good_record(mounted, regions)
                self.assertLess(len(mounted.log().splitlines()), self.MAX_LINES)
                peak = self.assert_in_bounds(mounted, CACHE + 2 * DAEMON_MEMORY, name)
                self.assertEqual(mounted.unmount(), 0)
                print(f"{regions} damaged regions, at most {peak >> 20} MiB", flush=True)


if __name__ == "__main__":
    mounting.main()
