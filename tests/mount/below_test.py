#!/usr/bin/env python3
"""The file system below returns errors or short reads: reads are correct or fail with a reason, and the mount goes on.

Each file is on faultfs. The fault hits its n-th read, counted from before the mount. RECORDFS_THOROUGH=N in the environment
tries N times as many reads, up to all of them.
"""
import contextlib
import errno
import os
import re

import faulty
import mounting

SAMPLES = ["array_record/group-10-zstd.array_record", "riegeli/simple_flush_every7.riegeli", "recordio/v2-text-100.grail-rio",
           "wandb/swanlab-2.swanlab", "leveldb_log/leftover-06-then-300.log", "proio/c16-metadata.proio",
           "bloscpack/vl-uniform.blp", "tfrecord/small.tfrecord", "leveldb_table/rocksdb7-filter-in-parts.sst",
           "rocksdb_blob/rocksdb7-zstd.blob"]
READS = max(1, 2 * int(os.environ.get("RECORDFS_THOROUGH", "1")))  # tried in each file with each fault
PASSING = ["eio {}", "eio-from {}", "eintr-from {}"]


class Below(faulty.Case):
    def assert_correct_or_failed(self, found, truth, mounted):
        """Returns the names of the files that failed."""
        failed = {name for name, what in found.items() if isinstance(what, int)}
        self.assertLessEqual({found[name] for name in failed}, {errno.EIO})
        self.assertEqual([name for name in truth if name not in failed and found[name] != truth[name]], [])
        self.assertIsNone(mounted.daemon.poll(), mounted.log())
        return failed

    def mount_or_message(self, source):
        """Returns (mount, ""), or (None, message) if recordfs refuses to mount."""
        try:
            return self.mount(source, options=["index=no"]), ""
        except AssertionError as refused:
            return None, str(refused)

    def sweep(self, fault, check):
        """Mounts each sample while one of its reads meets the fault. Calls check(mount or None, message, truth, source)."""
        for place, name in enumerate(SAMPLES):
            source = self.put(name)
            truth, count = self.truth(source)
            wanted = min(READS, count)
            for turn in range(wanted):
                number = (2 * turn + 1 + place % 2) * count // (2 * wanted) % count
                with self.subTest(sample=name, fault=fault.format(number)):
                    self.put(name)
                    self.fault(fault.format(number))
                    mounted, why = self.mount_or_message(source)
                    check(mounted, why, truth, source)
                    if mounted:
                        self.assertEqual(mounted.unmount(), 0)

    def check_hidden(self, mounted, truth):
        found = self.snapshot(mounted.point, self.files_of(truth))
        self.assertEqual(self.assert_correct_or_failed(found, truth, mounted), set())

    def check_passing(self, mounted, why, truth, source):
        """The log gives the reason of each failure. Afterwards everything is readable."""
        if not mounted:
            self.assertRegex(why, f"{source}: .*(Input/output error|Interrupted system call)")
            self.fault()
            mounted = self.mount(source, options=["index=no"])
        elif self.assert_correct_or_failed(self.snapshot(mounted.point, self.files_of(truth)), truth, mounted):
            mounted.wait_for_log(f"{source}: .*(Input/output error|Interrupted system call)")
            self.fault()
        self.assertEqual(self.snapshot(mounted.point, self.files_of(truth)), truth)

    def test_files_that_failed_are_correct_after_a_temporary_fault(self):
        for fault in PASSING:
            self.sweep(fault, self.check_passing)

    def test_short_reads_below_change_nothing(self):
        for name in SAMPLES:
            with self.subTest(sample=name):
                source = self.put(name)
                truth, _ = self.truth(source)
                self.fault("all-short 61")
                mounted = self.mount(source, options=["index=no"])
                self.check_hidden(mounted, truth)

    def test_bad_sector_fails_only_the_chunk_that_contains_it(self):
        source = self.put("riegeli/multiblock_zstd.riegeli")
        mounted = self.mount(source, options=["index=no"])
        chunks = sorted(os.listdir(mounted / "chunks"))
        bad = chunks[len(chunks) // 2]
        records = {chunk: sorted(os.listdir(mounted / "chunks" / chunk / "records")) for chunk in chunks}
        self.assertEqual(mounted.unmount(), 0)
        self.fault(f"eio-range {int(bad) + 1000} {int(bad) + 1001}")
        mounted = self.mount(source, options=["index=no"])
        failed = {}
        for chunk, names in records.items():
            outcomes = [self.result_or_errno((mounted / "chunks" / chunk / "records" / name).read_bytes) for name in names]
            failed[chunk] = {what for what in outcomes if isinstance(what, int)}
        self.assertEqual({chunk for chunk, numbers in failed.items() if numbers}, {bad})
        self.assertEqual(failed[bad], {errno.EIO})
        line = mounted.wait_for_log(f"{source}: byte [0-9]+: .*Input/output error")
        self.assertIn(int(re.search("byte ([0-9]+)", line)[1]), range(int(bad), int(bad) + 1001))
        self.fault()
        self.assertIsInstance((mounted / "chunks" / bad / "records" / records[bad][0]).read_bytes(), bytes)

    def test_other_file_is_served_while_one_fails(self):
        bad, good = self.put(SAMPLES[1]), mounting.sample("riegeli/simple_snappy.riegeli")
        mounted = self.mount(bad, good, options=["index=no"])
        self.fault("eio-from 0")
        with contextlib.suppress(OSError):
            os.listdir(mounted / bad.name / "records")
        self.assert_fails_with(errno.EIO, (mounted / bad.name / "streams/concat").read_bytes)
        self.assertEqual(len(os.listdir(mounted / good.name / "records")), 500)
        self.assertTrue((mounted / good.name / "streams/concat").read_bytes())
        mounted.wait_for_log(f"{bad}: .*Input/output error")

    def test_scan_that_failed_saves_no_incomplete_index(self):
        """The scan resumes where the fault was, so a saved index covers the whole file."""
        source = self.put("riegeli/multiblock_zstd.riegeli")
        truth, count = self.truth(source)
        self.fault(f"eio {count // 3}")
        failed = self.recordfs("index", source)
        self.assertEqual(failed.returncode == 0, failed.stderr == "", failed.stderr)
        for _ in range(2):
            self.fault()
            mounted = self.mount(source)
            self.assertEqual(self.snapshot(mounted.point, self.files_of(truth)), truth)
            self.assertEqual(mounted.unmount(), 0)
            self.assertEqual(self.recordfs("index", source).returncode, 0)


if __name__ == "__main__":
    mounting.main()
