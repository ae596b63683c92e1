#!/usr/bin/env python3
"""How many requests and bytes recordfs needs, with a round trip of 50 ms."""
import os
import re
import shutil
import unittest

import built
import commands_test
import mounting
import remoting
from server import Rule
from tfrecords import tfrecord

ROUND_TRIP = 0.05  # seconds
BLOCK = 256 << 10  # bytes
MOST = 1.05        # of a file's size may be fetched to read all of it


class Case(commands_test.Case):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.server = self.serve(self.root, delay=ROUND_TRIP)

    def requests_of(self, *words):
        """Runs a command, which must succeed. Returns its requests and its output."""
        self.server.take_log()
        done = self.answer(words)
        self.assertEqual((done.status, done.err), (0, ""), words)
        log = self.server.take_log()
        for request in log:
            if "-type=" not in request.target and not request.path.endswith("/"):
                self.assertRegex(request.range, r"\Abytes=\d+-\d+\Z", "each request has an upper bound")
        return log, done.out

    def requests_in(self, most, *words):
        """The same of a command that needs at most so many round trips. Requests that are in flight together count as one.

        A busy machine may send them a round trip apart, so a command that keeps nothing is tried again."""
        for _ in range(4 if "--no-cache" in words else 1):
            log, out = self.requests_of(*words)
            if len(rounds(log)) <= most:
                return log, out
        self.fail((words, log))

    def assert_requests(self, most, *words):
        log, out = self.requests_in(most, *words)
        self.assertLessEqual(len(log), most + 2, (words, log))
        return out


def stalled(exchange):
    exchange.wait_for_the_client_to_leave()
    return exchange.answer


def rounds(log):
    """Returns the requests in groups that were waiting for their answers at the same time."""
    groups = []
    for request in sorted(log, key=lambda request: request.begun):
        if groups and request.begun < groups[-1][0].begun + ROUND_TRIP * 0.9:
            groups[-1].append(request)
        else:
            groups.append([request])
    return groups


class RoundTrips(Case):
    def make(self, form, records, name, *options):
        path = remoting.make(form, records, self.root / name, *options)
        self.assertGreater(path.stat().st_size, 16 * BLOCK, name)
        return path

    def test_info_needs_two(self):
        for form, records, name in [("riegeli-zstd", 60000, "a.riegeli"), ("array_record-zstd", 60000, "a.array_record"),
                                    ("tfrecord", 60000, "a.tfrecord"),
                                    ("leveldb_table-none", 80000, "000005.ldb"), ("recordio-zstd", 60000, "a.grail-rio"),
                                    ("proio-lz4", 60000, "a.proio"),
                                    ("leveldb", 60000, "000003.log"), ("bloscpack-lz4", 60000, "a.blp")]:
            with self.subTest(format=form):
                self.assert_requests(2, "info", self.server.url(self.make(form, records, name)))

    def test_directory_without_logs_is_not_searched(self):
        log = built.sample("tfrecord/events.out.tfevents.1700000000.host")
        (self.root / "logs/run/train").mkdir(parents=True)
        shutil.copy(log, self.root / "logs/run/train")
        url = self.server.url("logs")
        self.assertIn("no record container in this directory", self.answer(["info", url]).err)
        self.assertEqual([request for request in self.server.take_log() if "train" in request.path], [])
        shutil.copy(log, self.root / "logs/run")
        _, out = self.requests_of("info", "--json", url)
        self.assertIn(b"logs/run/train/events.out", out)

    def test_info_of_a_database_opens_its_tables_together(self):
        shutil.copytree(built.sample("database/leveldb-levels"), self.root / "database")
        log, _ = self.requests_in(7, "info", "--no-cache", self.server.url("database"))  # five before the tables
        tables = [request.path for request in log if request.path.endswith(".ldb")]
        self.assertEqual((len(tables), len(set(tables))), (4, 4))

    def test_record_of_a_riegeli_file_needs_three(self):
        """`cat FILE @OFFSET/INDEX`, which needs no scan of the headers."""
        path = self.make("riegeli-zstd", 60000, "a.riegeli")
        row = self.answer(["ls", path, "59000"]).out.decode().split()
        out = self.assert_requests(3, "cat", self.server.url(path), row[2] if row[2].startswith("@") else f"@{row[2]}")
        self.assertEqual(out, self.answer(["cat", path, "59000"]).out)

    def test_record_of_an_array_record_needs_three(self):
        path = self.make("array_record-zstd", 60000, "a.array_record")
        out = self.assert_requests(3, "cat", self.server.url(path), "59000")
        self.assertEqual(out, self.answer(["cat", path, "59000"]).out)

    def test_record_of_an_indexed_tfrecord_needs_one(self):
        path = self.make("tfrecord", 60000, "a.tfrecord")
        url = self.server.url(path)
        self.answer(["index", url])
        for ordinal in ("50000", "30000"):
            log, out = self.requests_of("cat", url, ordinal)
            self.assertEqual(len(log), 1, log)
            self.assertEqual(out, self.answer(["cat", path, ordinal]).out)
        for ordinal in ("40000", "3"):
            out = self.assert_requests(1, "ls", "--no-cache", url, ordinal)
            self.assertEqual(out, self.answer(["ls", path, ordinal]).out)

    def test_record_of_an_indexed_set_needs_one_round_trip(self):
        """All shards are asked at once which version they have, and the one with the record for its bytes too."""
        paths = [self.make("tfrecord", 60000, f"a-{shard:05}-of-00003.tfrecord") for shard in range(3)]
        urls = [self.server.url(path) for path in paths]
        self.answer(["index", *urls])
        expected = self.answer(["cat", *paths, "100000"]).out
        for words in (["cat", "--no-cache"], ["ls", "--no-cache"]):
            log, out = self.requests_in(1, *words, *urls, "100000")
            self.assertLessEqual(len(log), len(urls) + 1, log)
        self.assertEqual(self.requests_in(1, "cat", "--no-cache", *urls, "100000")[1], expected)
        pattern = self.server.origin + "/a-*.tfrecord"  # asked for as a file, then listed, then its shards
        log, out = self.requests_of("cat", "--no-cache", pattern, "100000")
        self.assertEqual(out, expected)
        self.assertEqual([request for request in log if "00001-of" in request.path and request.range == "bytes=0-524287"], [])
        for records in (20000, 70000):  # what indexes say of a shard that was replaced is wrong
            self.answer(["index", *urls])
            remoting.make("tfrecord", records, paths[0])
            for ordinal in ("100000", "3"):
                remote, local = (self.answer(["cat", *words, ordinal]) for words in (urls, paths))
                self.assertEqual((remote.status, remote.out), (local.status, local.out), (records, ordinal))

    def test_record_at_an_address_of_an_indexed_file_needs_one(self):
        path = self.make("tfrecord", 60000, "a.tfrecord")
        url = self.server.url(path)
        self.answer(["index", url])
        address = "@" + self.answer(["ls", path, "40000"]).out.decode().split()[2]
        expected = self.answer(["cat", path, address]).out
        for words in (["cat", "--no-cache", url, address], ["cat", url, address], ["ls", "--no-cache", url, address]):
            out = self.assert_requests(1 if "--no-cache" in words else 2, *words)
            self.assertIn(out, (expected, self.answer(["ls", path, address]).out))
        log, out = self.requests_of("cat", url, address)  # the head is on the disk
        self.assertEqual((len(log), out), (1, expected), log)
        for wrong in ("@7/0", "@999999999999/0"):
            remote, local = (self.answer(["cat", word, wrong]) for word in (url, path))
            self.assertEqual((remote.status, remote.err.replace(url, str(path))), (local.status, local.err))

    def test_record_of_a_file_that_was_replaced_after_it_was_indexed_is_right(self):
        """A saved index says where to begin. What is there does not decide what the file is."""
        for form, name in (("tfrecord", "a.tfrecord"), ("array_record-zstd", "a.array_record")):
            path = self.make(form, 60000, name)
            url = self.server.url(path)
            for records in (20000, 4, 60001):  # the first and second are shorter than the place of the record
                for cache in ([], ["--no-cache"]):
                    self.answer(["index", *cache, url])
                    remoting.make(form, records, path)
                    for ordinal in ("50000", "3"):
                        remote, local = (self.answer(["cat", *cache, word, ordinal]) for word in (url, path))
                        self.assertEqual((remote.status, remote.out), (local.status, local.out), (form, records, ordinal))

    def test_each_format_needs_few_requests_and_bytes(self):
        """Requests one after another, and KiB: of `info` without and with a saved index, and of `cat FILE N` with one."""
        for form, records, name, ordinal, first, known, record in [
                ("riegeli-zstd", 60000, "a.riegeli", "40000", (2, 1024), (1, 512), (1, 1024)),
                ("array_record-zstd", 60000, "a.array_record", "40000", (2, 1024), (1, 1024), (1, 1536)),
                ("tfrecord", 60000, "a.tfrecord", "40000", (2, 1024), (1, 512), (1, 1024)),
                ("recordio-zstd", 60000, "a.grail-rio", "40000", (2, 1024), (1, 1024), (1, 1536)),
                ("proio-lz4", 60000, "a.proio", "40000", (2, 1024), (1, 512), (1, 1280)),
                ("leveldb", 60000, "000003.log", "40000", (2, 1024), (1, 512), (1, 1024)),
                ("leveldb_table-none", 80000, "000005.ldb", "40000", (2, 1024), (1, 1280), (1, 1280)),
                ("bloscpack-lz4", 60000, "a.blp", "20", (2, 1024), (1, 512), (1, 1536))]:
            with self.subTest(format=form):
                path = self.make(form, records, name)
                url = self.server.url(path)
                self.assert_numbers(first, "info", "--no-cache", url)
                self.answer(["index", url])
                self.assert_numbers(known, "info", "--no-cache", url)
                out = self.assert_numbers(record, "cat", "--no-cache", url, ordinal)
                self.assertEqual(out, self.answer(["cat", path, ordinal]).out)

    def assert_numbers(self, most, *words):
        log, out = self.requests_in(most[0], *words)
        self.assertLessEqual(sum(request.sent for request in log) / 1024, most[1], (words, log))
        return out

    def test_info_of_an_indexed_tfrecord_needs_one(self):
        path = self.make("tfrecord", 60000, "a.tfrecord")
        url = self.server.url(path)
        self.answer(["index", url])
        self.assertEqual(self.assert_requests(1, "info", "--no-cache", url).decode().replace(url, str(path)),
                         self.answer(["info", path]).out.decode())

    def test_key_of_a_table_needs_four(self):
        path = self.make("leveldb_table-none", 80000, "000005.ldb")
        keys = self.answer(["keys", path]).out.decode().splitlines()
        for key in (keys[0], keys[len(keys) // 2], keys[-1]):
            out = self.assert_requests(4, "get", self.server.url(path), key, "--no-cache")
            self.assertEqual(out, self.answer(["get", path, key]).out)

    def test_directory_of_a_table_is_not_listed(self):
        path = self.make("leveldb_table-none", 80000, "000005.ldb")
        log, _ = self.requests_of("get", self.server.url(path), self.answer(["keys", path]).out.decode().splitlines()[7])
        self.assertFalse([request for request in log if request.path.endswith("/")], log)

    def test_second_reading_comes_from_the_disk(self):
        path = self.make("riegeli-zstd", 60000, "a.riegeli")
        first, out = self.requests_of("cat", self.server.url(path))
        again, same = self.requests_of("cat", self.server.url(path))
        self.assertEqual(out, same)
        self.assertLessEqual(len(again), 1, again)
        self.assertLess(sum(request.sent for request in again), sum(request.sent for request in first) / 4)

    def test_no_cache_keeps_nothing_on_the_disk(self):
        path = self.make("riegeli-zstd", 60000, "a.riegeli")
        self.requests_of("cat", "--no-cache", self.server.url(path), "0")
        self.assertFalse([file for file in (self.folder / "caches").rglob("*") if "blocks" in str(file) and file.is_file()])


class Mounted(remoting.Served, mounting.Case):
    """Reading a file of a mount needs no more than a command: the mount has opened its source."""

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.server = self.serve(self.root, delay=ROUND_TRIP)

    def requests_of(self, read):
        self.server.take_log()
        result = read()
        return self.server.take_log(), result

    def test_record_of_an_array_record_needs_one(self):
        path = remoting.make("array_record-zstd", 60000, self.root / "a.array_record")
        expected = self.recordfs("cat", path, "59000").stdout.encode()
        mounted = self.mount(self.server.url(path))
        log, names = self.requests_of(lambda: os.listdir(mounted.point))
        self.assertIn("records", names)
        self.assertLessEqual(len(log), 1, log)
        log, record = self.requests_of((mounted.point / "records" / "59000").read_bytes)
        self.assertEqual(record, expected)
        self.assertLessEqual(len(rounds(log)), 1, log)

    def test_record_of_an_indexed_tfrecord_needs_one(self):
        path = remoting.make("tfrecord", 60000, self.root / "a.tfrecord")
        expected = self.recordfs("cat", path, "50000").stdout.encode()
        self.recordfs("index", self.server.url(path))
        mounted = self.mount(self.server.url(path), options=["no_disk_cache"])
        log, record = self.requests_of((mounted.point / "records" / "50000").read_bytes)
        self.assertEqual(record, expected)
        self.assertLessEqual(len(rounds(log)), 1, log)


class Bytes(Case):
    def test_reading_everything_fetches_each_byte_once(self):
        for form, records, name in [("riegeli-zstd", 60000, "a.riegeli"), ("tfrecord", 60000, "a.tfrecord"),
                                    ("array_record-zstd", 60000, "a.array_record")]:
            path = remoting.make(form, records, self.root / name)
            size = path.stat().st_size
            for words in (["cat", "--no-cache"], ["grep", "-c", "--no-cache", "no such text"], ["verify", "--no-cache"]):
                with self.subTest(form=form, words=words):
                    self.server.take_log()
                    self.answer([*words, self.server.url(path)])
                    log = self.server.take_log()
                    self.assertLessEqual(sum(request.sent for request in log), size * MOST + BLOCK, log)
                    self.assertTrue(all(re.fullmatch(r"bytes=\d+-\d+", request.range) for request in log), log)

    def test_several_requests_are_in_flight(self):
        path = self.root / "large.tfrecord"
        path.write_bytes(tfrecord([bytes(1 << 20)]) * 64)
        self.answer(["cat", "--no-cache", self.server.url(path)])
        self.assertGreater(self.server.most_at_once, 1)

    def test_pass_over_a_whole_file_begins_with_large_requests(self):
        path = self.root / "large.tfrecord"
        path.write_bytes(tfrecord([bytes(1 << 20)]) * 80)
        for words in (["cat"], ["grep", "-c", "no such text"], ["verify"]):
            self.server.take_log()
            self.assertIn(self.answer([*words, "--no-cache", self.server.url(path)]).status, (0, 1), words)
            log = sorted(self.server.take_log(), key=lambda request: int(request.range.split("=")[1].split("-")[0]))
            self.assertGreaterEqual(min(request.sent for request in log[1:-2]), 1 << 20, log)  # between the head and the end
            self.assertEqual(len({request.sent for request in log[1:7]}), 6, log)  # so that they end one after another
            self.assertLessEqual(sum(request.sent for request in log), path.stat().st_size * MOST, words)

    def test_head_reads_only_the_beginning(self):
        path = self.root / "large.tfrecord"
        path.write_bytes(tfrecord([bytes(1000)]) * 64000)
        log, _ = self.requests_of("head", "-n", "3", self.server.url(path))
        self.assertLessEqual(sum(request.sent for request in log), 8 * BLOCK, log)


class ManyFiles(Case):
    def test_files_that_are_named_one_by_one_are_asked_about_together(self):
        for number in range(24):
            (self.root / f"{number}.tfrecord").write_bytes(tfrecord([b"%d" % number]))
        urls = [self.server.url(f"{number}.tfrecord") for number in range(24)]
        log, out = self.requests_of("cat", *urls, "23")
        self.assertEqual(out, b"23")
        # An answer is believed for a second, within which a busy machine does not open all files.
        self.assertLessEqual(len(log), 2 * len(urls), log)
        self.assertGreater(self.server.most_at_once, 4)
        self.server.rules.append(Rule(r"/1?[0-9]\.tfrecord", stalled))
        self.server.take_log()
        done = self.answer(["cat", "--timeout", str(remoting.DEADLINE), *urls, "23"])
        self.assertEqual((done.status, done.out), (2, b""))
        for number in range(20):
            self.assertEqual(done.err.count(f"/{number}.tfrecord: "), 1, done.err)
        # Each small request without a response is repeated once on another connection.
        self.assertLessEqual(len(self.server.take_log()), 2 * len(urls))

    def test_commands_for_each_file_wait_together_for_servers_that_do_not_answer(self):
        for number in range(12):
            (self.root / f"{number}.tfrecord").write_bytes(tfrecord([b"%d" % number]))
        urls = [self.server.url(f"{number}.tfrecord") for number in range(12)]
        self.server.rules.append(Rule(r"/[0-9]\.tfrecord", stalled))
        for words in (["info"], ["verify"], ["grep", "-c", "1"]):
            self.server.most_at_once = 0
            done = self.answer([*words, "--timeout", str(remoting.DEADLINE), *urls])
            self.assertEqual(done.status, 2, done)
            for number in range(10):
                self.assertEqual(done.err.count(f"/{number}.tfrecord: "), 1, done.err)
            self.assertGreater(self.server.most_at_once, 4, words)


class ManyShardsOfS3(Case):
    SHARDS = 1000

    def setUp(self):
        super().setUp()
        for number in range(self.SHARDS):
            (self.root / f"train-{number:05}-of-{self.SHARDS:05}.tfrecord").write_bytes(tfrecord([b"%d" % number]))
        self.server = self.serve_s3(self.folder, delay=ROUND_TRIP)

    def test_root_of_a_set_needs_one_request_per_page(self):
        for page, most in ((1000, 2), (300, 5)):  # and one for the first shard
            self.server.page = page
            log, _ = self.requests_of("cat", f"s3://root/train@{self.SHARDS}.tfrecord", "0")
            listings = [request for request in log if "list-type" in request.target]
            self.assertLessEqual(len(listings), most, listings)
            self.assertLessEqual(len(log) - len(listings), 2, log)

    def test_pattern_lists_only_names_that_begin_as_it_does(self):
        (self.root / "zebra").mkdir()
        log, out = self.requests_of("head", "-n", "3", "--lines", "s3://root/train-0000*.tfrecord")
        self.assertEqual(out, b"0\n1\n2\n")
        self.assertLessEqual(len(log), 8, log)


if __name__ == "__main__":
    remoting.main()
