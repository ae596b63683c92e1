#!/usr/bin/env python3
"""Mounts of directories of http:// and s3:// servers show what mounts of the same local directories show."""
import concurrent.futures
import errno
import hashlib
import json
import os
import re
import shutil
import time
from pathlib import Path

import bucket
import built
import faults
import mount_test
import mounting
import remoting
import server
from tfrecords import tfrecord

SAMPLES = ("riegeli/simple_zstd9.riegeli", "tfrecord/small.tfrecord", "avro/small/null.avro")
NAMES = ("with space", "100%", "50%41", "q?x=1", "h#ash", "a+b&c", "sch\u00f6n \u2603", "co:lon,;semi", "star*", "[x]", "back\\slash")
FAILURES = {errno.EIO, errno.ETIMEDOUT, errno.EACCES, errno.EOPNOTSUPP, errno.EREMOTEIO}


class Case(mount_test.Case):
    def start(self):
        self.root = self.folder / "root"
        for name in SAMPLES:
            (self.root / "dir" / "deep").mkdir(parents=True, exist_ok=True)
            shutil.copyfile(built.sample(name), self.root / "dir" / Path(name).name)
            shutil.copyfile(built.sample(name), self.root / "dir" / "deep" / Path(name).name)
        shutil.copytree(built.corpus() / "database/leveldb-levels", self.root / "dir" / "db")
        (self.root / "dir" / "readme.txt").write_text("no container\n", encoding="utf-8")
        self.serve_it()

    def serve_it(self):
        self.server = self.serve(self.root)
        self.prefix = f"{self.server.origin}/"

    def error_of(self, action, *arguments):
        """Returns the number of the error of a call that must fail."""
        with self.assertRaises(OSError) as raised:
            action(*arguments)
        return raised.exception.errno

    def write(self, name, data):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path


class Trees(Case):
    CONTROLS = ("new\nline",)

    def test_directory_has_the_tree_of_its_local_copy(self):
        local, remote = self.mount_both("dir/")
        for below in (".", "deep", "simple_zstd9.riegeli", "deep/small.tfrecord", "db"):
            self.assertEqual(sorted(os.listdir(remote / below)), sorted(os.listdir(local / below)), below)
            self.assertEqual((remote / below).is_dir(), True)
        for below in ("simple_zstd9.riegeli/records/000000007", "deep/null.avro/info.json", "small.tfrecord/streams/concat", "readme.txt",
                      "db/CURRENT"):
            self.assertEqual((remote / below).read_bytes(), (local / below).read_bytes(), below)
            self.assertEqual((remote / below).stat().st_size, (local / below).stat().st_size, below)
        self.assertEqual(sorted(os.listdir(remote / "db/000005.ldb/keys")), sorted(os.listdir(local / "db/000005.ldb/keys")))

    def test_all_that_can_be_walked_is_the_same(self):
        local, remote = self.mount_both("dir/")
        expected, found = ({str(Path(folder).relative_to(each.point)): (sorted(folders), sorted(files))
                            for folder, folders, files in os.walk(each.point)}
                           for each in (local, remote))
        self.assertEqual(found, expected)

    def test_inodes_and_times_are_those_of_the_listing(self):
        os.utime(self.root / "dir/readme.txt", (1_600_000_000, 1_600_000_000))
        remote = self.mount(f"{self.prefix}dir/")
        status = (remote / "readme.txt").stat()
        self.assertEqual((status.st_mtime, status.st_size, status.st_mode & 0o7777), (1_600_000_000, 13, 0o400))
        listed = {entry.name: entry.inode() for entry in os.scandir(remote.point)}
        for name, inode in listed.items():
            self.assertEqual((remote / name).stat().st_ino, inode, name)

    def test_directory_is_a_source_among_others(self):
        remote = self.mount(f"{self.prefix}dir/", f"{self.prefix}dir/deep", f"{self.prefix}dir/small.tfrecord")
        self.assertEqual(sorted(os.listdir(remote.point)), ["deep", "dir", "small.tfrecord"])
        self.assertEqual(sorted(os.listdir(remote / "deep")), sorted(os.listdir(remote / "dir/deep")))
        self.assertEqual(len(os.listdir(remote / "dir/simple_zstd9.riegeli/records")), 500)

    def test_local_file_beside_a_directory_of_a_server_is_served_while_that_waits(self):
        remote = self.mount(f"{self.prefix}dir/", built.sample("riegeli/simple_snappy.riegeli"), options=["timeout_remote=5"])
        local = remote / "simple_snappy.riegeli/records"
        self.server.rules.append(server.Rule("", faults.stall_before_headers))
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            waiting = [pool.submit(os.listdir, remote / "dir/deep") for _ in range(12)]
            self.assertEqual(len(os.listdir(local)), 500)
            self.assertFalse(any(each.done() for each in waiting))
            self.server.rules.clear()

    def test_name_that_does_not_exist_is_not_found(self):
        remote = self.mount(f"{self.prefix}dir/")
        for name in ("nothing", "deep/nothing.tfrecord/records", "readme.txt/x", "small.tfrecord/nothing", "x" * 255):
            self.assertIn(self.error_of(os.stat, remote / name), (errno.ENOENT, errno.ENOTDIR), name)

    def test_missing_directory_is_reported(self):
        point = self.new_point()
        done = self.recordfs(f"{self.prefix}nothing/", point)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Arecordfs: [^\n]*nothing/: [^\n]+\n\Z")

    def test_every_name_is_shown_and_read(self):
        for name in NAMES + self.CONTROLS:
            self.write(f"names/{name}.txt", name.encode())
            self.write(f"names/{name}.tfrecord", tfrecord([name.encode()]))
            self.write(f"names/{name}/inner.txt", name.encode())
        local, remote = self.mount_both("names/")
        self.assertEqual(sorted(os.listdir(remote.point)), sorted(os.listdir(local.point)))
        for name in NAMES + self.CONTROLS:
            for below in (f"{name}.txt", f"{name}.tfrecord/records/0", f"{name}/inner.txt"):
                self.assertEqual((remote / below).read_bytes(), name.encode(), below)

    def test_file_that_is_no_container_is_a_file_whatever_its_name(self):
        self.write("odd/text.tfrecord", b"only text, and a wrong name\n" * 40)
        self.write("odd/empty.riegeli", b"")
        self.write("odd/container", tfrecord([b"one"]))
        remote = self.mount(f"{self.prefix}odd/")
        self.assertEqual((remote / "container/records/0").read_bytes(), b"one")
        self.assertEqual((remote / "empty.riegeli").read_bytes(), b"")
        with self.assertRaises(OSError):
            os.listdir(remote / "text.tfrecord")
        self.assertEqual((remote / "text.tfrecord").read_bytes(), b"only text, and a wrong name\n" * 40)

    def test_large_file_passes_through(self):
        data = os.urandom(3_000_000)
        self.write("large/data.bin", data)
        remote = self.mount(f"{self.prefix}large/")
        self.assertEqual((remote / "data.bin").read_bytes(), data)
        with open(remote / "data.bin", "rb") as file:
            self.assertEqual(os.pread(file.fileno(), 10, 2_999_995), data[-5:])

    def test_directory_is_shown_as_one_data_set(self):
        names = [f"set/train-{number:05}-of-00004.tfrecord" for number in range(4)]
        for number, name in enumerate(names):
            self.write(name, tfrecord([b"%d.%d" % (number, record) for record in range(10)]))
        for source in ("set/", "set/train@4.tfrecord", "set/train-*"):
            remote = self.mount(self.prefix + source, options=["join"])
            self.assertEqual(len(os.listdir(remote / "records")), 40)
            self.assertEqual((remote / "records/27").read_bytes(), b"2.7")
            self.assertEqual(len(os.listdir(remote / "shards")), 4)


class Requests(Case):
    COUNT = 1000

    def start(self):
        super().start()
        for number in range(self.COUNT):
            self.write(f"many/train-{number:05}-of-{self.COUNT:05}.tfrecord", tfrecord([b"%d" % number]))

    def test_many_shards_are_listed_in_few_requests(self):
        self.server.take_log()
        remote = self.mount(f"{self.prefix}many/train@{self.COUNT}.tfrecord", options=["join"])
        self.assertEqual(sorted(os.listdir(remote.point)), ["info.json", "records"])
        self.assertEqual(len(os.listdir(remote / "shards")), self.COUNT)
        log = self.server.take_log()
        pages = [request for request in log if request.sent > self.COUNT]  # others ask whether the set's name is a directory
        self.assertLessEqual(len(pages), 2, pages)
        self.assertLess(len(log), 10, log)
        self.assertEqual((remote / "records/777").read_bytes(), b"777")

    def test_listing_of_many_shards_is_one_request_a_page_and_opens_none(self):
        remote = self.mount(f"{self.prefix}many/")
        self.server.take_log()
        self.assertEqual(len(os.listdir(remote.point)), self.COUNT)
        status = mounting.run("ls", "-l", remote.point)
        self.assertEqual((status.returncode, len(status.stdout.splitlines())), (0, self.COUNT + 1), status.stderr)
        log = self.server.take_log()
        self.assertLessEqual(len(log), 1, log)
        self.assertEqual((remote / f"train-00777-of-{self.COUNT:05}.tfrecord/records/0").read_bytes(), b"777")
        opened = {request.path for request in self.server.take_log()}
        self.assertLessEqual(len([path for path in opened if path.endswith(".tfrecord")]), 1, opened)

    def test_mounting_lists_one_page(self):
        self.server.take_log()
        self.mount(f"{self.prefix}many/")
        log = self.server.take_log()
        self.assertLessEqual(len(log), 2, log)  # one tells whether it is a database


class Changes(Case):
    def test_object_that_appears_is_shown_after_a_while(self):
        remote = self.mount(f"{self.prefix}dir/")
        self.assertNotIn("new.riegeli", os.listdir(remote.point))
        self.assertFalse((remote / "new.riegeli").exists())
        shutil.copyfile(built.sample("riegeli/simple_snappy.riegeli"), self.root / "dir" / "new.riegeli")
        built.wait_for(lambda: "new.riegeli" in os.listdir(remote.point), "the new object", 30)
        self.assertEqual(len(os.listdir(remote / "new.riegeli/records")), 500)

    def test_object_that_is_replaced_or_removed_is_never_shown_mixed(self):
        path = self.write("change/file.txt", b"before" * 100_000)
        self.write("change/set.tfrecord", tfrecord([b"before"]))
        gone = self.write("change/gone.txt", b"gone")
        remote = self.mount(f"{self.prefix}change/")
        self.assertEqual((remote / "file.txt").read_bytes(), b"before" * 100_000)
        self.assertEqual((remote / "set.tfrecord/records/0").read_bytes(), b"before")
        self.assertTrue((remote / "gone.txt").exists())
        time.sleep(1.1)  # another second, as times of servers tell
        path.write_bytes(b"after!" * 100_000)
        self.write("change/set.tfrecord", tfrecord([b"after!"]))
        gone.unlink()

        def content(name):
            try:
                return (remote / name).read_bytes()
            except OSError:
                return b""
        for name, old, new in (("file.txt", b"before" * 100_000, b"after!" * 100_000), ("set.tfrecord/records/0", b"before", b"after!")):
            def is_new(name=name, old=old, new=new):
                found = content(name)
                self.assertIn(found, (old, new, b""), name)
                return found == new
            built.wait_for(is_new, f"the new {name}", 30)
        built.wait_for(lambda: not (remote / "gone.txt").exists(), "the end of a file", 30)


class Failures(Case):
    """A listing that fails is an error, never an empty directory, and works again later."""

    FAULTS = (faults.malformed_listing, faults.truncated_listing, faults.html_listing, faults.deep_listing, faults.entities_in_listing,
              faults.endless_listing, faults.internal_error, faults.forbidden, faults.not_found, faults.stall_before_headers,
              faults.reset_in_body, faults.without_sizes,
              faults.garbage, faults.redirect_to_file)

    def test_listing_that_fails_is_an_error_and_recovers(self):
        remote = self.mount(f"{self.prefix}dir/", options=[f"timeout_remote={remoting.DEADLINE}"])
        for number, fault in enumerate(self.FAULTS):
            name = f"d{number}"
            self.write(f"dir/{name}/inner.txt", b"inner")
        expected = sorted(os.listdir(self.root / "dir"))
        built.wait_for(lambda: sorted(os.listdir(remote.point)) == expected, "the new directories", 30)
        for number, fault in enumerate(self.FAULTS):
            with self.subTest(fault=fault.__name__):
                name = f"d{number}"
                self.server.rules = [server.Rule(rf"{name}/$|prefix={name}(%2F|/)", fault)]
                self.assertIn(self.error_of(os.listdir, remote / name), FAILURES | {errno.ENOENT, errno.ESTALE})
                self.server.rules = []
                built.wait_for(lambda name=name: self.names_or_none(remote / name) == ["inner.txt"], "recovery", 30)
                self.assertEqual((remote / name / "inner.txt").read_bytes(), b"inner")

    @staticmethod
    def names_or_none(path):
        try:
            return os.listdir(path)
        except OSError:
            return None

    @staticmethod
    def content_or_none(path):
        try:
            return path.read_bytes()
        except OSError:
            return None

    def test_names_outside_the_directory_are_left_out(self):
        self.server.rules = [server.Rule(r"dir/$|list-type", faults.names_outside_the_directory)]
        remote = self.mount(f"{self.prefix}dir/")
        expected = sorted(os.listdir(self.root / "dir"))
        self.assertEqual(sorted(os.listdir(remote.point)), expected)
        self.assertEqual(self.error_of(os.stat, remote / ("x" * 300)), errno.ENAMETOOLONG)
        self.assertFalse([request for request in self.server.take_log() if "passwd" in request.target])
        self.assertEqual((remote / "readme.txt").read_bytes(), b"no container\n")

    def test_name_that_is_listed_twice_is_shown_once(self):
        def twice(exchange):
            data = exchange.answer.data()
            if data[:1] == b"[":
                rows = data.strip()[1:-1]
                exchange.answer.body = b"[" + rows + b"," + rows + b"]"
            else:
                rows = b"".join(re.findall(rb"<Contents>.*?</Contents>|<CommonPrefixes>.*?</CommonPrefixes>", data, re.S))
                exchange.answer.body = data.replace(rows, rows + rows)
            return exchange.answer
        self.server.rules = [server.Rule(r"dir/$|list-type", twice)]
        remote = self.mount(f"{self.prefix}dir/")
        self.assertEqual(sorted(os.listdir(remote.point)), sorted(os.listdir(self.root / "dir")))

    def test_object_that_may_not_be_read_is_a_failure(self):
        remote = self.mount(f"{self.prefix}dir/")
        self.server.rules = [server.Rule("small|readme", faults.forbidden)]
        self.assertEqual(self.error_of((remote / "readme.txt").read_bytes), errno.EACCES)
        self.assertEqual(self.error_of(os.listdir, remote / "small.tfrecord"), errno.EACCES)
        self.server.rules = [server.Rule("small|readme", faults.not_found)]
        built.wait_for(lambda: self.error_of((remote / "readme.txt").read_bytes) in (errno.ENOENT, errno.ESTALE), "the end of the object",
                       10)
        self.server.rules = []
        built.wait_for(lambda: self.names_or_none(remote / "small.tfrecord"), "recovery", 30)
        built.wait_for(lambda: self.content_or_none(remote / "readme.txt") == b"no container\n", "recovery", 30)


class OfS3:
    CONTROLS = ()  # keys with such characters are refused

    def serve_it(self):
        self.server = self.serve_s3(self.root)
        self.prefix = "s3://"


class TreesOfS3(OfS3, Trees):
    pass


class TreesOfGoogle(Trees):
    CONTROLS = ()

    def serve_it(self):
        self.server = self.serve(self.root, bucket.Bucket, keys=None)
        self.prefix = "gs://"

    def environment(self, *_):
        return super().environment() | {"STORAGE_EMULATOR_HOST": self.server.origin}


class Hub(server.Server):
    """Serves its folder as the repository user/repo of Hugging Face."""

    COMMIT = "0123456789" * 4

    def answer(self, request):
        path = request.path
        if path.startswith("/api/datasets/user/repo/tree/main"):
            folder = self.root / path.removeprefix("/api/datasets/user/repo/tree/main").strip("/")
            if not folder.is_dir():
                return server.Answer(404, {"X-Error-Code": "EntryNotFound"})
            rows = [{"type": "directory" if each.is_dir() else "file", "path": str(each.relative_to(self.root)),
                     "size": each.stat().st_size,
                     "oid": hashlib.sha1(each.read_bytes()).hexdigest() if each.is_file() else "0"} for each in folder.iterdir()]
            return server.Answer(200, {"Content-Type": "application/json"}, json.dumps(rows).encode())
        found = self.find(re.sub("^/datasets/user/repo/resolve/(main|[0-9]{40})/", "/", path))
        if not isinstance(found, server.Object):
            return server.Answer(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": self.COMMIT})
        answer = self.part(request, found)
        answer.headers["X-Repo-Commit"] = self.COMMIT
        return answer


class TreesOfHub(Trees):
    CONTROLS = ()
    test_inodes_and_times_are_those_of_the_listing = None  # which has no times

    def serve_it(self):
        self.server = self.serve(self.root, Hub)
        self.prefix = "hf://datasets/user/repo/"

    def environment(self, *_):
        return super().environment() | {"HF_ENDPOINT": self.server.origin}


class RequestsOfS3(OfS3, Requests):
    pass


class ChangesOfS3(OfS3, Changes):
    pass


class FailuresOfS3(OfS3, Failures):
    pass


class PagesOfS3(Case):
    def serve_it(self):
        self.server = self.serve_s3(self.root)
        self.server.page = 7
        self.prefix = "s3://"

    def test_directory_of_many_pages_has_the_tree_of_its_local_copy(self):
        for number in range(40):
            self.write(f"pages/{number}.tfrecord", tfrecord([b"%d" % number]))
            self.write(f"pages/{number}.dir/inner.tfrecord", tfrecord([b"%d" % number]))
        self.server.take_log()
        local, remote = self.mount_both("pages/")
        self.assertLessEqual(len(self.server.take_log()), 3)  # a page, and whether there is a CURRENT
        self.assertEqual((remote / "39.tfrecord/records/0").read_bytes(), b"39")  # on none of the pages that were listed
        self.assertEqual((remote / "9.dir/inner.tfrecord/records/0").read_bytes(), b"9")
        self.assertEqual(self.error_of(os.stat, remote / "40.tfrecord"), errno.ENOENT)
        self.assertEqual(sorted(os.listdir(remote.point)), sorted(os.listdir(local.point)))
        self.server.take_log()
        for number in range(40):
            self.assertTrue((remote / f"{number}.tfrecord").is_dir())
        self.assertEqual(self.server.take_log(), [])

    def test_directory_hides_an_object_of_its_name(self):
        self.write("both/x/inner.txt", b"inner")
        self.server.put("both/x", b"an object")
        remote = self.mount(f"{self.prefix}both/")
        self.assertEqual(os.listdir(remote.point), ["x"])
        self.assertEqual((remote / "x/inner.txt").read_bytes(), b"inner")

    def test_page_that_fails_is_an_error_in_the_middle(self):
        for number in range(40):
            self.write(f"pages/{number}.txt", b"%d" % number)
        remote = self.mount(f"{self.prefix}pages/", options=[f"timeout_remote={remoting.DEADLINE}"])
        self.server.rules = [server.Rule("continuation-token", faults.forbidden, first=3)]
        self.assertIn(self.error_of(os.listdir, remote.point), FAILURES)
        self.server.rules = []
        self.assertEqual(len(os.listdir(remote.point)), 40)


if __name__ == "__main__":
    mounting.main()
