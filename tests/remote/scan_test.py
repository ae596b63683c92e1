#!/usr/bin/env python3
"""Scans of the headers of remote files: what they request, and when they are refused."""
import errno
import json
import os
import struct
import unittest

import commands_test
import mounting
import remoting
from tfrecords import masked_crc32c, tfrecord

ROUND_TRIP = 0.02  # seconds
BLOCK = 256 << 10  # bytes
LARGE = 1 << 20    # bytes of a record


def write_sparse(path, sizes):
    """Writes a TFRecord file with records of zeros, whose data checksums are only those of records of LARGE bytes."""
    footer = masked_crc32c(bytes(LARGE))
    with path.open("wb") as file:
        for size in sizes:
            length = struct.pack("<Q", size)
            file.write(length + masked_crc32c(length))
            file.seek(size, 1)
            file.write(footer if size == LARGE else bytes(4))
    return path


class Case(commands_test.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.server = self.serve(self.root, delay=ROUND_TRIP)

    def forget(self):
        """Removes what was saved, as if another user read the files."""
        self.users = getattr(self, "users", 0) + 1

    def environment(self, *_):
        return remoting.environment(self.folder, self.s3, XDG_CACHE_HOME=f"{self.folder}/caches{getattr(self, 'users', 0)}")

    def ask(self, *words, status=0, err=""):
        """Runs a command as a user without saved files. Returns its output and its requests."""
        self.forget()
        self.server.take_log()
        done = self.answer(words)
        self.assertEqual((done.status, done.err), (status, err), words)
        return done.out, self.server.take_log()

    def totals(self, *words):
        out, log = self.ask("info", "--scan", "--json", *words)
        return json.loads(out)["records"], log


class FarHeaders(Case):
    def test_scan_requests_only_the_bytes_near_headers(self):
        path = write_sparse(self.root / "far.tfrecord", [LARGE + 4096 * (i * 7 % 100) for i in range(100)])
        records, log = self.totals(self.server.url(path))
        self.assertEqual(records, 100)
        self.assertLess(sum(request.sent for request in log), 8 * BLOCK + 100 * (8 << 10), log[:8])
        self.assertLessEqual(len(log), 110)

    def test_headers_at_equal_distances_are_requested_together(self):
        path = write_sparse(self.root / "far.tfrecord", [LARGE] * 200)
        records, log = self.totals(self.server.url(path))
        self.assertEqual(records, 200)
        self.assertGreater(self.server.most_at_once, 8)
        self.assertLess(sum(request.sent for request in log), 8 * BLOCK + 220 * (8 << 10))

    def test_one_record_of_another_size_changes_nothing(self):
        sizes = [LARGE] * 60
        sizes[40] = 5000
        path = write_sparse(self.root / "far.tfrecord", sizes)
        self.assertEqual(self.totals(self.server.url(path))[0], 60)
        out, _ = self.ask("cat", self.server.url(path), "59")
        self.assertEqual(out, bytes(LARGE))

    def test_small_records_are_requested_in_large_parts(self):
        path = self.root / "near.tfrecord"
        path.write_bytes(tfrecord([bytes(1000)]) * 20000)
        records, log = self.totals(self.server.url(path))
        self.assertEqual(records, 20000)
        self.assertLess(len(log), 45)

    def test_headers_on_the_disk_are_not_requested_again(self):
        path = write_sparse(self.root / "far.tfrecord", [LARGE] * 12)
        self.answer(["cat", self.server.url(path)])
        self.server.take_log()
        done = self.answer(["info", "--scan", "--json", self.server.url(path)])
        self.assertEqual(json.loads(done.out)["records"], 12)
        self.assertLess(sum(request.sent for request in self.server.take_log()), 3 * BLOCK)


class Refusals(Case):
    def setUp(self):
        super().setUp()
        path = self.root / "near.tfrecord"
        path.write_bytes(b"".join(tfrecord([b"%07d" % i + bytes(993)]) for i in range(200)) + tfrecord([bytes(1000)]) * 30000)
        self.url = self.server.url(path)

    def test_never_refuses_a_scan_with_the_reason(self):
        done = self.answer(["info", "--scan", "--remote-scan=never", self.url])
        self.assertNotEqual(done.status, 0)
        self.assertRegex(done.err, r"\Arecordfs: \S+: a scan of the headers would request about \d+ MB of the remote file "
                                   r"\(try: --remote-scan=auto\)\n\Z")

    def test_scan_is_refused_before_it_has_requested_as_much(self):
        self.server.take_log()
        done = self.answer(["info", "--scan", "--remote-scan=20M", self.url])
        self.assertIn("about 31 MB", done.err)
        self.assertLess(sum(request.sent for request in self.server.take_log()), 8 << 20)

    def test_scan_that_may_request_enough_succeeds(self):
        for most in ("auto", "40M"):
            self.assertEqual(self.totals(f"--remote-scan={most}", self.url)[0], 30200)

    def test_never_does_not_refuse_what_needs_no_scan(self):
        for words in (["info"], ["head", "-n", "2", "--lines"]):
            self.assertEqual(self.answer([words[0], "--remote-scan=never", *words[1:], self.url]).status, 0)

    def test_local_files_are_scanned(self):
        self.assertEqual(self.totals("--remote-scan=never", self.root / "near.tfrecord")[0], 30200)

    def test_other_words_are_refused(self):
        self.assertIn("--remote-scan", self.answer(["info", "--remote-scan=often", self.url]).err)


class Mounts(remoting.Served, mounting.Case):
    RECORDS = 30000

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.path = self.root / "near.tfrecord"
        self.path.write_bytes(b"".join(tfrecord([b"%05d" % i + bytes(995)]) for i in range(self.RECORDS)))
        self.server = self.serve(self.root)
        self.url = self.server.url(self.path)

    def listed(self, point):
        return sum(len(os.listdir(point / "thousands" / name)) for name in os.listdir(point / "thousands"))

    def test_listing_that_would_request_too_much_is_refused(self):
        mounted = self.mount(self.url, options=["remote_scan=20M"])
        self.server.take_log()
        for _ in range(2):
            self.assert_fails_with(errno.EFBIG, os.listdir, mounted.point / "thousands")
        self.assertLess(sum(request.sent for request in self.server.take_log()), 8 << 20)
        self.assertRegex(mounted.log(), r"about \d+ MB of the remote file \(try: recordfs index URL, or mount with -o remote_scan=auto\)")

    def test_records_near_the_beginning_are_read_nevertheless(self):
        mounted = self.mount(self.url, options=["remote_scan=3M"])
        with self.assertRaises(OSError):
            os.listdir(mounted.point / "thousands")
        for ordinal in (17, 1700):
            self.assertEqual((mounted.point / "thousands" / f"{ordinal // 1000:08}" / f"{ordinal:011}").read_bytes()[:5], b"%05d" % ordinal)

    def test_record_at_the_beginning_needs_no_scan_of_the_rest(self):
        mounted = self.mount(self.url)
        self.server.take_log()
        self.assertEqual((mounted.point / "thousands" / "00000000" / f"{17:011}").read_bytes()[:5], b"00017")
        self.assertLess(sum(request.sent for request in self.server.take_log()), 8 * BLOCK)

    def test_listing_is_permitted_by_the_option(self):
        mounted = self.mount(self.url, options=["remote_scan=auto"])
        self.assertEqual(self.listed(mounted.point), self.RECORDS)


if __name__ == "__main__":
    remoting.main()
