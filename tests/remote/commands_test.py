#!/usr/bin/env python3
"""Commands answer for http:// and s3:// as they do for the same local files."""
import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import built
import faults
import remoting
import server
from built import EXPECTATION

CONTAINERS = 40  # that one process names


def containers():
    """Returns the paths below tests/corpus of all samples that are containers, damaged or not, in the order of their names."""
    known = sorted(built.corpus().rglob(f"*{EXPECTATION}"))
    paths = [Path(str(path).removesuffix(EXPECTATION)) for path in known
             if not json.loads(path.read_text(encoding="utf-8")).get("format", "").startswith("not-a-")]
    return [str(path.relative_to(built.corpus())) for path in paths if path.is_file()]


def databases():
    return sorted(f"database/{path.name}" for path in (built.corpus() / "database").iterdir()
                  if path.is_dir() and Path(f"{path}{EXPECTATION}").is_file())


def without_copies(text):
    """Returns a text whose hints for compressed files name them as if they were local, and need not be copied first."""
    return re.sub(r"recordfs cp --raw (\S*?([^/\s]+)) : \. && ([^)]*)", lambda hint: hint[3].replace(hint[2], hint[1]), text)


class Case(remoting.Served, unittest.TestCase):
    """A case with a new folder. Compares what recordfs says of files below `root` and of the same files on a server."""

    longMessage = True
    maxDiff = 4000

    def setUp(self):
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="recordfs-test-")))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = built.corpus()

    def url(self, name):
        return self.prefix + name

    def answer(self, words, cwd=None):
        done = remoting.run(words, self.environment(), cwd=cwd)
        self.assertIsNone(built.COMPLAINT.search(done.err), done.err)
        return done

    def assert_same(self, *words, files):
        """A command with these words, in which each "FILE" is replaced by the next of `files`, answers the same for both."""
        def with_files(name_of):
            left = list(files)
            return [name_of(left.pop(0)) if word == "FILE" else word for word in words] + [name_of(file) for file in left]
        local = self.answer(with_files(str), cwd=self.root)
        remote = self.answer(with_files(self.url))
        shown = remote._replace(out=without_copies(remote.out.decode("latin-1").replace(self.prefix, "")).encode("latin-1"),
                                err=without_copies(remote.err.replace(self.prefix, "")))
        self.assertEqual(shown.out, local.out, words)
        self.assertEqual((shown.status, shown.err), (local.status, local.err), words)
        return local


class OverHttp:
    def start(self):
        """Serves `root`, and sets `prefix`, which makes a URL of a name below `root`."""
        self.server = self.serve(self.root)
        self.prefix = f"{self.server.origin}/"


class OverS3:
    """Each request is signed, and a page of a listing has few keys."""

    def start(self):
        self.server = self.serve_s3(self.root.parent)
        self.server.page = 100
        self.prefix = f"s3://{self.root.name}/"


class Files:
    WITH_OTHER_LOGS = "database/rocksdb11-wal-dir"  # in a directory that is found by its name beside the database

    def setUp(self):
        super().setUp()
        self.start()

    def test_every_sample_is_read_as_its_local_copy(self):
        names = containers()
        self.assertGreater(len(names), 300)
        groups = [names[at:at + CONTAINERS] for at in range(0, len(names), CONTAINERS)]
        for command in (["info", "--json"], ["verify", "--json"]):
            remoting.in_parallel(lambda group, words=command: self.assert_same(*words, files=group), groups)
        self.assertGreater(len(self.server.take_log()), len(names))

    def test_records_of_each_format_are_read_by_every_command(self):
        def check(name):
            for words in (["head", "--json", "-n", "3", "FILE"], ["cat", "FILE", "0"], ["cat", "--lines", "FILE", "-2:"], ["ls", "FILE"],
                          ["grep", "-c", "e", "FILE"], ["cat", "--json", "FILE"], ["splits", "--size", "5000", "FILE"],
                          ["info", "--scan", "--json", "FILE"]):
                with self.subTest(name=name, words=words):
                    self.assert_same(*words, files=[name])
        first = {}
        for name in containers():
            if built.expectation(name).get("num_records", 0) > 2:
                first.setdefault((Path(name).parts[0], Path(name).suffix), name)
        self.assertGreaterEqual(len(first), 10)
        remoting.in_parallel(check, first.values())

    def test_databases_are_read_as_local_directories(self):
        def check(name):
            self.assert_same("keys", "--json", files=[name])
            self.assert_same("info", "--json", files=[name])
            keys = self.answer(["keys", name], cwd=self.root).out.decode(errors="surrogateescape").splitlines()
            if keys:
                self.assert_same("get", "--encoded", "FILE", keys[len(keys) // 2], files=[name])
        names = databases()
        self.assertGreater(len(names), 5)
        remoting.in_parallel(check, {*built.some_of(names, 3), self.WITH_OTHER_LOGS})

    def test_logs_of_a_database_may_be_in_another_directory(self):
        name = self.WITH_OTHER_LOGS
        local = self.answer(["keys", "--json", name], self.root)
        for slash in ("", "/"):
            remote = self.answer(["keys", "--json", self.url(name), "--wal-dir", self.url(f"{name}.logs") + slash])
            self.assertEqual((remote.status, remote.err), (0, ""))
            self.assertEqual([row["sequence"] for row in map(json.loads, remote.out.splitlines())],
                             [row["sequence"] for row in map(json.loads, local.out.splitlines())])
            words = ["verify", "--json", self.url(name), "--wal-dir", self.url(f"{name}.logs") + slash]
            self.assertNotIn(b"logs//", self.answer(words).out)

    def test_logs_that_are_missing_are_reported(self):
        shutil.copytree(self.root / self.WITH_OTHER_LOGS, self.folder / "alone" / "rocksdb11-wal-dir")
        started = self.serve(self.folder / "alone")
        done = self.answer(["keys", started.url("rocksdb11-wal-dir")])
        self.assertNotEqual(done.status, 0)
        self.assertIn("the directory of the write-ahead logs, /srv/data/rocksdb11-wal-dir.logs, does not exist", done.err)

    def test_final_slash_names_the_same_database(self):
        self.assert_same("keys", files=["database/leveldb-levels/"])

    def test_keys_of_a_table_and_of_a_log_are_listed(self):
        for name in ("leveldb_table/small/snappy.ldb", "leveldb_log/000003.log"):
            if not (self.root / name).exists():
                name = next(each for each in containers() if each.startswith(name.split("/", maxsplit=1)[0]))
            done = self.assert_same("keys", files=[name])
            key = done.out.decode(errors="surrogateescape").splitlines()[0]
            self.assert_same("get", "--encoded", "FILE", key, files=[name])

    def test_small_tables_whose_keys_are_not_in_order_have_all_their_keys(self):
        for name in ("leveldb_table/unordered.ldb", "leveldb_table/damaged/index-twice.ldb"):
            self.assert_same("keys", "--json", files=[name])
        self.assert_same("get", "FILE", "ant", "zebra", files=["leveldb_table/unordered.ldb"])

    def test_missing_file_is_reported_with_its_url(self):
        done = self.answer(["info", self.url("tfrecord/nothing.tfrecord")])
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertRegex(done.err, r"\Arecordfs: \S+/tfrecord/nothing\.tfrecord: [^\n]*(not found|no such key)[^\n]*\n\Z")

    def test_second_url_without_a_file_is_reported_as_such(self):
        name = "tfrecord/embedded.tfrecord"
        done = self.answer(["cat", self.url(name), self.url("tfrecord/nothing.tfrecord")])
        self.assertNotEqual(done.status, 0)
        self.assertRegex(done.err, r"\Arecordfs: \S+/tfrecord/nothing\.tfrecord: [^\n]*(not found|no such key)[^\n]*\n\Z")

    def test_file_that_is_not_a_container_is_refused(self):
        self.assert_same("info", files=["riegeli/simple_zstd9.riegeli.expect.json"])
        self.assert_same("cat", files=["riegeli/simple_zstd9.riegeli.expect.json"])

    def test_empty_object_is_an_empty_container(self):
        self.root = self.folder / "root"
        self.root.mkdir()
        (self.root / "empty.tfrecord").touch()
        (self.root / "empty.bin").touch()
        self.start()
        self.assert_same("info", "--json", files=["empty.tfrecord"])
        self.assert_same("cat", files=["empty.tfrecord"])
        self.assert_same("info", files=["empty.bin"])

    def test_report_is_written_for_a_url(self):
        pages = []
        for words, cwd in ((["report", "riegeli/simple_zstd9.riegeli"], self.root),
                           (["report", self.url("riegeli/simple_zstd9.riegeli")], None)):
            page = self.folder / "page.html"
            done = self.answer([*words, "-o", page], cwd)
            self.assertEqual((done.status, done.err), (0, ""))
            pages.append(page.read_text(encoding="utf-8").replace(self.prefix, ""))
        self.assertEqual(len(pages[0]), len(pages[1]))

    def test_records_are_copied_to_files(self):
        name = "riegeli/simple_zstd9.riegeli"
        self.assertEqual(self.answer(["cp", self.url(name), "3:6", self.folder / "out"]).err, "")
        copied = sorted((self.folder / "out").rglob("*"))
        records = [path.read_bytes() for path in copied if path.is_file()]
        self.assertEqual(len(records), 3)
        self.assertEqual(b"".join(records), self.answer(["cat", name, "3:6"], self.root).out)


class Sets:
    """Data sets, of which a server lists the directory."""

    SHARDS = 7

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        (self.root / "set").mkdir(parents=True)
        self.names = [f"set/train-{number:05}-of-{self.SHARDS:05}.riegeli" for number in range(self.SHARDS)]
        for number, name in enumerate(self.names):
            remoting.make("riegeli-zstd", 100 + number, self.root / name)
        self.start()
        self.whole = self.answer(["cat", *self.names], self.root).out

    def assert_whole(self, *words):
        done = self.answer(["cat", *words])
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(done.out, self.whole)

    def test_glob_names_shards(self):
        self.assert_whole(self.url("set/train-*.riegeli"))
        self.assert_whole(self.url("set/train-0000[0-9]-of-*.riegeli"))

    def test_standard_name_names_shards(self):
        self.assert_whole(self.url(f"set/train@{self.SHARDS}.riegeli"))

    def test_directory_names_shards(self):
        self.assert_whole(self.url("set/"))

    def test_several_urls_are_one_set(self):
        self.assert_whole(*map(self.url, self.names))

    def test_manifest_names_urls(self):
        manifest = self.folder / "list.txt"
        manifest.write_text("".join(f"{self.url(name)}\n" for name in self.names), encoding="utf-8")
        done = self.answer(["cat", "--manifest", manifest, self.url(self.names[0])])
        if done.status != 0:  # without a FILE
            done = self.answer(["cat", "--manifest", manifest])
        # A host that only a manifest names is not the user's own, so a loopback address is refused.
        self.assertTrue(done.out == self.whole or "loopback" in done.err or "address" in done.err, done.err)

    def test_manifest_on_a_server_names_its_neighbors(self):
        (self.root / "set" / "list.txt").write_text("".join(f"{Path(name).name}\n" for name in self.names), encoding="utf-8")
        self.assert_whole("--manifest", self.url("set/list.txt"))

    def test_record_of_a_set_is_found_by_ordinal_and_by_address(self):
        for pattern in ("set/train-*.riegeli", f"set/train@{self.SHARDS}.riegeli"):
            local = self.answer(["cat", pattern, "333"], self.root)
            self.assertEqual(self.answer(["cat", self.url(pattern), "333"]), local)
        rows = self.answer(["ls", self.url("set/train-*.riegeli")])
        self.assertEqual(rows, self.answer(["ls", "set/train-*.riegeli"], self.root))
        address = rows.out.decode().splitlines()[333].split("\t")[2]
        self.assertEqual(self.answer(["cat", self.url("set/train-*.riegeli"), address]), local)

    def test_splits_of_a_set_have_all_records(self):
        lines = self.answer(["splits", "--count", "4", self.url("set/train-*.riegeli")]).out.decode().splitlines()
        self.assertGreaterEqual(len(lines), 4)
        parts = [self.answer(["cat", "--split", line, self.url("set/train-*.riegeli")]).out for line in lines]
        self.assertEqual(b"".join(parts), self.whole)

    def test_missing_shard_is_named(self):
        (self.root / self.names[3]).unlink()
        self.assert_same("info", files=[f"set/train@{self.SHARDS}.riegeli"])

    def test_pattern_without_a_match_is_reported(self):
        self.assert_same("cat", files=["set/other-*.riegeli"])

    def test_directory_that_may_not_be_listed_is_a_failure_with_its_reason(self):
        self.server.rules.append(server.Rule(r"set/$|list-type", faults.forbidden))
        for word in ("set/", "set/train-*", f"set/train@{self.SHARDS}.riegeli"):
            done = self.answer(["info", self.url(word)])
            self.assertEqual((done.status, done.out), (2, b""), word)
            if "@" not in word:  # it may be a file's name
                self.assertRegex(done.err, "HTTP 403: access denied", word)

    def test_missing_file_is_asked_for_once_by_a_command(self):
        self.server.delay = 1.1  # an answer is used for more than a second
        self.server.take_log()
        done = self.answer(["info", self.url("set/nothing.riegeli")])
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertEqual(len([request for request in self.server.take_log() if request.path.endswith("nothing.riegeli")]), 1)

    def test_missing_directory_is_reported(self):
        done = self.answer(["info", self.url("nothing/")])
        self.assertEqual((done.status, done.out), (2, b""))
        self.assertRegex(done.err, r"\Arecordfs: [^\n]*nothing/?: [^\n]+\n\Z")


class Names(Case):
    """Names that URLs and signatures encode."""

    NAMES = ("with space.riegeli", "dt=2024-01-01/part=0.riegeli", "a+b&c.riegeli", "sch\u00f6n \u2603.riegeli", "100%25.riegeli",
             "q?x=1.riegeli",
             "h#ash.riegeli", "co:lon,;semi.riegeli", "(paren)'quote'!.riegeli", "tilde~_-.riegeli", "at@home.riegeli", "star*.riegeli")

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        for name in self.NAMES:
            (self.root / "names" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(built.sample("riegeli/simple_zstd9.riegeli"), self.root / "names" / name)
        self.expected = self.answer(["cat", built.sample("riegeli/simple_zstd9.riegeli"), "7"])

    def test_every_name_is_read_by_http(self):
        started = self.serve(self.root)
        for name in self.NAMES:
            with self.subTest(name=name):
                self.assertEqual(self.answer(["cat", started.url(f"names/{name}"), "7"]), self.expected)

    def test_url_may_have_characters_that_are_sent_encoded(self):
        origin = self.serve(self.root).origin
        for name in ("with space.riegeli", "sch\u00f6n \u2603.riegeli", "a+b&c.riegeli"):
            for place in (origin, origin.replace("127.0.0.1", "LOCALHOST")):
                self.assertEqual(self.answer(["cat", f"{place}/names/{name}", "7"]), self.expected, name)
        self.assertIn("HTTP 404", self.answer(["info", f"{origin}/not here"]).err)
        self.assertNotIn("not complete", self.answer(["info", origin]).err)

    def test_refusals_say_what_may_help(self):
        started = self.serve(self.root)
        started.rules += [server.Rule(r"names/$", faults.forbidden), server.Rule(r"names/q", faults.unauthorized)]
        self.assertIn("nginx needs 'autoindex on;", self.answer(["info", started.url("names/")]).err)
        self.assertIn("(try: an entry of this host in ~/.netrc)", self.answer(["info", started.url("names/q")]).err)

    def test_hint_for_a_compressed_file_works(self):
        url = self.serve(self.root).url("names/") + "co:m%20pressed.riegeli.gz"
        with gzip.open(self.root / "names/co:m pressed.riegeli.gz", "wb") as file:
            file.write(built.sample("riegeli/simple_zstd9.riegeli").read_bytes())
        hint = re.search(r"\(try: recordfs (.*) && (gunzip -k [^&]*)\)\n\Z", self.answer(["info", url]).err)
        self.assertEqual(self.answer(hint[1].split(), cwd=self.folder).status, 0)
        subprocess.run(shlex.split(hint[2]), cwd=self.folder, check=True)
        unpacked = self.folder / shlex.split(hint[2])[-1].removesuffix(".gz")
        self.assertEqual(self.answer(["cat", unpacked, "7"]), self.expected)

    def test_url_of_an_unknown_scheme_is_reported_as_such(self):
        for url in ("ftp://127.0.0.1/a.riegeli", "HTTP://127.0.0.1/a.riegeli"):
            done = self.answer(["info", url])
            self.assertEqual(done.status, 2)
            self.assertIn("No such file or directory (URLs begin with http:, https:, s3:, gs: or hf:)", done.err)

    def test_every_name_is_read_by_s3(self):
        self.serve_s3(self.root)
        for name in self.NAMES:
            if "*" not in name and "?" not in name:  # patterns, which match these names, too
                with self.subTest(name=name):
                    self.assertEqual(self.answer(["cat", f"s3://names/{name}", "7"]), self.expected)

    def test_listed_names_are_read(self):
        self.serve_s3(self.root)
        http = self.serve(self.root)
        for folder in ("s3://names/", f"{http.origin}/names/"):
            done = self.answer(["info", "--scan", "--json", folder])
            self.assertEqual((done.status, done.err), (0, ""))
            self.assertIn(f'"records":{500 * (len(self.NAMES) - 1)}', done.out.decode())  # without the one in the directory dt=...

    def test_patterns_match_names_as_they_are_and_encoded(self):
        http = self.serve(self.root)
        for pattern in ("h%23*h.riegeli", "*ash.riegeli", "100%25*.riegeli", "100%2525*.riegeli", "q%3Fx=*.riegeli", "*x=1.riegeli"):
            done = self.answer(["cat", f"{http.origin}/names/{pattern}", "7"])
            self.assertEqual((done.status, done.err, done.out), (0, "", self.expected.out), pattern)


class Closed(server.Server):
    """Wants a password for everything."""

    def answer(self, request):
        return super().answer(request) if "authorization" in request.headers else server.Answer(401)


class Passwords(Case):
    """Of URLs: for the directories of patterns too."""

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.files = ["set/train-00000-of-00002.tfrecord", "set/train-00001-of-00002.tfrecord"]
        for name in self.files:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(built.sample("tfrecord/small.tfrecord"), self.root / name)
        self.server = self.serve(self.root, Closed)
        self.expected = self.answer(["cat", *self.files], self.root).out

    def url(self, name):
        return f"{self.server.origin}/{name}".replace("://", "://me:passW0rd@")

    def test_patterns_have_the_password_of_their_url(self):
        for pattern in ("set/*.tfrecord", "set/train-*", "s*/train-*", "*/train-0000[01]-of-*", "set/train@2.tfrecord", "set/", "set"):
            done = self.answer(["cat", self.url(pattern)])
            self.assertEqual((done.status, done.err, done.out), (0, "", self.expected), pattern)
        for words in (["cp", "--raw", self.url("set/*.tfrecord"), ":", self.folder / "copies"], ["info", self.url("set/*")]):
            self.assertEqual(self.answer(words).status, 0, words)
        self.assertEqual((self.folder / "copies" / Path(self.files[0]).name).read_bytes(), (self.root / self.files[0]).read_bytes())

    def test_patterns_of_two_users_are_refused_together(self):
        other = self.url("set/*-00001-*").replace("me:", "other:")
        done = self.answer(["cat", self.url("set/*-00000-*"), other])
        self.assertNotIn(done.status, (0, 1))
        self.assertIn("userinfo", done.err)

    def test_url_needs_no_slash_after_its_host(self):
        shutil.copyfile(built.sample("tfrecord/small.tfrecord"), self.root / "1")
        for url in (self.url("").removesuffix("/"), self.url("")):
            self.server.take_log()
            done = self.answer(["cp", "--raw", url, ":", self.folder / "all"])
            self.assertEqual((done.status, done.err), (0, ""), url)
            self.assertIn("/1", [request.path for request in self.server.take_log()])
            shutil.rmtree(self.folder / "all")


class FilesOverHttp(OverHttp, Files, Case):
    pass


class FilesOverS3(OverS3, Files, Case):
    pass


class SetsOverHttp(OverHttp, Sets, Case):
    pass


class SetsOverS3(OverS3, Sets, Case):
    pass


if __name__ == "__main__":
    remoting.main()
