#!/usr/bin/env python3
"""Scans of the headers of remote files: what they request, when they are refused, and index files that make them unnecessary."""
import errno
import json
import os
import struct
import unittest

import commands_test
import faults
import mounting
import remoting
from server import Rule
from tfrecords import masked_crc32c, tfrecord

ROUND_TRIP = 0.02  # seconds
BLOCK = 256 << 10  # bytes
LARGE = 1 << 20    # bytes of a record
SUFFIX = ".rfsindex"


def write(path, content):
    """Writes a file that is older than what a server calls new."""
    path.write_bytes(content)
    os.utime(path, (1e9, 1e9))
    return path


def write_sparse(path, sizes):
    """Writes a TFRecord file with records of zeros, whose data checksums are only those of records of LARGE bytes."""
    footer = masked_crc32c(bytes(LARGE))
    with path.open("wb") as file:
        for size in sizes:
            length = struct.pack("<Q", size)
            file.write(length + masked_crc32c(length))
            file.seek(size, 1)
            file.write(footer if size == LARGE else bytes(4))
    os.utime(path, (1e9, 1e9))
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
        write(path, tfrecord([bytes(1000)]) * 20000)
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
        write(path, b"".join(tfrecord([b"%07d" % i + bytes(993)]) for i in range(200)) + tfrecord([bytes(1000)]) * 30000)
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


class IndexFiles(Case):
    RECORDS = 20000

    def setUp(self):
        super().setUp()
        self.path = self.root / "near.tfrecord"
        write(self.path, b"".join(tfrecord([b"%05d" % i + bytes(995)]) for i in range(self.RECORDS)))
        self.url = self.server.url(self.path)
        self.index = self.root / f"{self.path.name}{SUFFIX}"

    def write_index(self, word=None):
        self.ask("index", word or self.url, "-o", self.index)

    def assert_scans(self, *words):
        """A scan finds all records, and reads the whole file for that."""
        records, log = self.totals(*words, self.url)
        self.assertEqual(records, self.RECORDS)
        self.assertGreater(sum(request.sent for request in log), self.path.stat().st_size * 0.9)
        return log

    def assert_seeks(self, *words):
        records, log = self.totals(*words, self.url)
        self.assertEqual(records, self.RECORDS)
        self.assertLess(sum(request.sent for request in log), 5 * BLOCK, log)
        return log

    def test_index_beside_the_file_replaces_the_scan(self):
        self.assert_scans()
        self.write_index()
        log = self.assert_seeks()
        self.assertEqual(len([request for request in log if SUFFIX in request.target]), 1, log)
        out, log = self.ask("cat", self.url, "17000")
        self.assertEqual(out[:5], b"17000")
        self.assertLess(sum(request.sent for request in log), 20 * BLOCK, log)

    def test_file_without_index_costs_one_request_more(self):
        log = self.assert_scans()
        self.assertEqual([request.status for request in log if SUFFIX in request.target], [404])

    def test_what_needs_no_scan_looks_for_no_index(self):
        self.write_index()
        small = self.root / "small.tfrecord"
        write(small, tfrecord([b"a", b"b"]))
        for words in (["info", self.url], ["head", "-n", "1", self.url], ["info", "--scan", self.server.url(small)],
                      ["info", "--scan", self.path], ["info", "--scan", "--index=no", self.url]):
            _, log = self.ask(*words)
            self.assertEqual([request for request in log if SUFFIX in request.target], [], words)

    def test_index_of_another_version_is_not_used(self):
        self.write_index()
        with self.path.open("r+b") as file:
            file.write(tfrecord([b"other" + bytes(995)]))
        os.utime(self.path, (1e9 + 1, 1e9 + 1))
        self.assert_scans()
        out, _ = self.ask("cat", self.url, "0")
        self.assertEqual(out[:5], b"other")

    def test_index_of_another_file_is_not_used(self):
        other = self.root / "other.tfrecord"
        write(other, tfrecord([b"o" * 1000]) * self.RECORDS)
        self.ask("index", self.server.url(other), "-o", self.index)
        self.assert_scans()

    def test_damaged_index_is_not_used(self):
        self.write_index()
        sound = self.index.read_bytes()
        samples = [b"", b"<html></html>", sound[:-1], sound + b"\0", sound[: len(sound) // 2]]
        samples += [sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1:] for at in range(0, len(sound), len(sound) // 9)]
        for sample in samples:
            self.index.write_bytes(sample)
            self.assert_scans()

    def test_index_that_must_not_be_read_is_not_used(self):
        self.write_index()
        self.server.rules.append(Rule(r"\.rfsindex", faults.status(403)))
        self.assertEqual(self.totals(self.url)[0], self.RECORDS)

    def test_named_index_is_used_wherever_it_is(self):
        elsewhere = self.folder / f"mine{SUFFIX}"
        self.ask("index", self.url, "-o", elsewhere)
        self.assert_seeks(f"--index={elsewhere}")
        self.index.write_bytes(elsewhere.read_bytes())
        self.path.with_suffix(".rfsindex").write_bytes(elsewhere.read_bytes())
        self.assert_seeks(f"--index={self.server.url(self.path.with_suffix('.rfsindex'))}")

    def test_named_index_of_another_file_is_reported(self):
        other = self.root / "other.tfrecord"
        write(other, tfrecord([b"o" * 1000]) * 1000)
        for file in (str(other), self.server.url(other)):
            self.ask("index", file, "-o", self.index)
            self.forget()
            done = self.answer(["info", "--scan", "--json", f"--index={self.index}", self.url])
            self.assertEqual(json.loads(done.out)["records"], self.RECORDS)
            self.assertRegex(done.err, r"near\.tfrecord: the index .*\.rfsindex is not used: it is of another file")

    def test_index_that_cannot_be_read_is_an_error(self):
        for name in ("none.rfsindex", "near.tfrecord.rfsindex"):
            self.index.write_bytes(b"not an index")
            done = self.answer(["info", "--scan", f"--index={self.root / name}", self.url])
            self.assertNotEqual(done.status, 0)
            self.assertIn(name, done.err)

    def test_local_file_can_have_an_index_file(self):
        elsewhere = self.folder / f"mine{SUFFIX}"
        self.ask("index", self.path, "-o", elsewhere)
        records, _ = self.totals(f"--index={elsewhere}", self.path)
        self.assertEqual(records, self.RECORDS)

    def test_index_file_is_of_one_file_and_named_so(self):
        other = self.root / "other.tfrecord"
        write(other, tfrecord([b"o"]))
        done = self.answer(["index", self.path, other, "-o", self.index])
        self.assertIn("an index file is of one file", done.err)
        self.assertFalse(self.index.exists())
        done = self.answer(["index", self.path, "-o", other])
        self.assertIn("ends with .rfsindex", done.err)
        self.assertEqual(other.read_bytes(), tfrecord([b"o"]))

    def test_index_that_does_not_add_up_is_an_error_that_names_it(self):
        """The bytes are others, and the server says that they are not."""
        def same_etag(exchange):
            exchange.request.headers.pop("if-match", None)
            answer = exchange.server.part(exchange.request, exchange.server.find(exchange.request.path))
            answer.headers["ETag"] = '"same"'
            return answer
        self.server.rules.append(Rule(r"near\.tfrecord\Z", same_etag))
        self.write_index()
        content = self.path.read_bytes()
        size = len(tfrecord([bytes(1000)]))
        shorter, longer = tfrecord([bytes(1000 - 8)]), tfrecord([bytes(1000 + 8)])
        write(self.path, content[:10000 * size] + shorter + content[10001 * size:10200 * size] + longer + content[10201 * size:])
        self.forget()
        done = self.answer(["cat", self.url, "10100"])
        self.assertEqual((done.status != 0, done.out), (True, b""))
        self.assertIn("the index near.tfrecord.rfsindex is wrong (try: recordfs index)", done.err)
        self.assertEqual(self.answer(["index", self.url]).status, 0)
        self.assertEqual(self.answer(["cat", self.url, "10100"]).out[:5], b"10100")

    def test_index_by_s3_is_used_by_https(self):
        bucket = self.serve_s3(self.folder)
        s3 = f"s3://root/{self.path.name}"
        for word in (s3, self.url):
            self.ask("index", word, "-o", self.index)
            self.assert_seeks()
            self.forget()
            bucket.take_log()
            done = self.answer(["info", "--scan", "--json", s3])
            self.assertEqual((json.loads(done.out)["records"], done.err), (self.RECORDS, ""))
            self.assertLess(sum(request.sent for request in bucket.take_log()), 5 * BLOCK)

    def test_object_without_strong_etag_has_no_index_file(self):
        self.server.rules.append(Rule(r"near", faults.weak_etag))
        self.forget()
        done = self.answer(["index", self.url, "-o", self.index])
        self.assertIn("the server sends no strong ETag", done.err)
        self.assertFalse(self.index.exists())


class Mounts(remoting.Served, mounting.Case):
    RECORDS = 30000

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.path = self.root / "near.tfrecord"
        write(self.path, b"".join(tfrecord([b"%05d" % i + bytes(995)]) for i in range(self.RECORDS)))
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

    def test_listing_is_permitted_by_the_option_or_by_an_index(self):
        mounted = self.mount(self.url, options=["remote_scan=auto", "index=no"])
        self.assertEqual(self.listed(mounted.point), self.RECORDS)
        self.assertEqual(self.recordfs("index", self.url, "-o", f"{self.path}{SUFFIX}").returncode, 0)
        mounted = self.mount(self.url, options=["remote_scan=never", f"index={self.folder}/empty"])
        self.assertEqual(len(os.listdir(mounted.point / "thousands")), self.RECORDS // 1000)
        mounted = self.mount(self.url, options=["remote_scan=never", f"index={self.path}{SUFFIX}"])
        self.assertEqual(len(os.listdir(mounted.point / "thousands")), self.RECORDS // 1000)


if __name__ == "__main__":
    remoting.main()
