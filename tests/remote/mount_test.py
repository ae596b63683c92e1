#!/usr/bin/env python3
"""Mounts of http:// and s3:// URLs show what mounts of the same local files show."""
import os
import time
from pathlib import Path

import built
import commands_test
import mounting
import remoting
from hostile import is_sanitized

BELOW = ("", ".views", "chunks", "thousands", "index", "streams", "keys", "metadata")  # what is listed, and what is found by name
FILES = ("index/chunks.tsv", "index/damage.tsv", "index/summary.json", "streams/concat")


def describe(path):
    """Returns the bytes of a file, the names in a directory, or the number of the error."""
    try:
        return sorted(os.listdir(path)) if path.is_dir() else path.read_bytes()
    except OSError as failed:
        return failed.errno


def tree(point):
    """Returns {path: what it is} of all that is listed below a mount point, and of some that is not."""
    found = {}
    for below in BELOW:
        for folder, folders, files in os.walk(point / below):
            folders.sort()
            for name in [".", *files]:
                path = Path(os.path.normpath(os.path.join(folder, name)))
                found[str(path.relative_to(point))] = describe(path)
    for name in FILES:
        found[name] = describe(point / name)
    return found


class Case(remoting.Served, mounting.Case):
    maxDiff = 4000

    def setUp(self):
        super().setUp()
        self.root = built.corpus()
        self.start()

    def start(self):
        self.prefix = f"{self.serve(self.root).origin}/"

    def mount_both(self, *names, options=()):
        """Returns mounts of local files, and of the same files on a server."""
        local = self.mount(*(str(self.root / name) for name in names), options=options)
        remote = self.mount(*(self.prefix + name for name in names), options=options)
        return local, remote

    def assert_same(self, *names, options=()):
        local, remote = self.mount_both(*names, options=options)
        expected, found = tree(local.point), tree(remote.point)
        self.assertGreater(len(expected), len(BELOW))
        self.assertEqual(sorted(found), sorted(expected), names)
        for path, content in expected.items():
            # A path in a text may be the source's.
            there, here = self.without_source(found[path]), self.without_source(content)
            self.assertEqual(there, here, (names, path))

    def without_source(self, content):
        return content.replace(self.prefix.encode(), b"").replace(f"{self.root}/".encode(), b"") if isinstance(content, bytes) else content


class Http(Case):
    def test_samples_of_each_format_have_the_tree_of_their_local_copies(self):
        first = {}
        for name in commands_test.containers():
            if built.sample(name).stat().st_size < 60_000:
                first.setdefault((Path(name).parts[0], len(first) % 2 if built.is_thorough() else 0), name)
        self.assertGreaterEqual(len(first), 10)
        self.assert_same(*first.values())

    def test_one_source_is_shown_without_a_directory_of_its_own(self):
        self.assert_same("riegeli/simple_zstd9.riegeli")

    def test_nest_shows_the_directory_of_one_source(self):
        self.assert_same("riegeli/simple_zstd9.riegeli", options=["nest"])

    def test_damaged_files_have_the_same_damage(self):
        self.assert_same("riegeli/dmg_flip_header.riegeli", "riegeli/dmg_truncate_13851.riegeli")

    def test_database_directory_has_its_keys(self):
        for name in ("database/leveldb-levels", "database/leveldb-levels/"):
            local, remote = self.mount_both(name)
            self.assertGreater(len(os.listdir(local / "keys")), 100)
            for below in ("keys", "history"):
                expected, found = ({path.name: describe(path) for path in (each / below).iterdir()} for each in (local, remote))
                self.assertEqual(found, expected, below)
            self.assertEqual(sorted(os.listdir(remote / "files")), sorted(os.listdir(local / "files")))
            self.assertEqual((remote / "files/CURRENT").read_bytes(), (local / "files/CURRENT").read_bytes())

    def test_options_apply(self):
        _, remote = self.mount_both("riegeli/simple_zstd9.riegeli",
                                    options=["uid=1234", "gid=2345", "umask=277", "xattr", "record_suffix=.txt"])
        status = (remote / "records/000000007.txt").stat()
        self.assertEqual((status.st_uid, status.st_gid, status.st_mode & 0o777), (1234, 2345, 0o500 & 0o400))
        self.assertEqual(os.getxattr(remote / "records/000000007.txt", "user.recordfs.ordinal"), b"7")

    def test_join_shows_several_urls_as_one(self):
        names = ("riegeli/simple_zstd9.riegeli", "riegeli/simple_snappy.riegeli")
        local, remote = self.mount_both(*names, options=["join"])
        self.assertEqual(os.listdir(remote / "records"), os.listdir(local / "records"))
        self.assertEqual((remote / "records/777").read_bytes(), (local / "records/777").read_bytes())

    def test_follow_is_refused_or_shows_the_object(self):
        point = self.new_point()
        done = self.recordfs(self.prefix + "riegeli/simple_zstd9.riegeli", point, "-o", "follow")
        if done.returncode == 0:
            self.assertEqual(len(os.listdir(point / "records")), 500)
        else:
            self.assertRegex(done.stderr, r"\Arecordfs: [^\n]*follow[^\n]*\n\Z")

    def test_missing_object_is_reported(self):
        point = self.new_point()
        done = self.recordfs(self.prefix + "tfrecord/nothing.tfrecord", point)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Arecordfs: [^\n]*/tfrecord/nothing\.tfrecord: [^\n]*(not found|no such key)[^\n]*\n\Z")
        self.assertNotIn(str(point), mounting.mounts())

    def test_mount_in_the_background_lasts(self):
        """The process that started the fetcher ends; the daemon, which was forked, goes on reading."""
        point = self.new_point()
        done = self.recordfs(self.prefix + "riegeli/multiblock_zstd.riegeli", point)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        time.sleep(0.3)
        self.assertEqual(len(os.listdir(point / "records")), 1250)
        self.assertEqual(mounting.run("grep", "-c", "", point / "records/1249").stderr, "")
        self.assertEqual(mounting.run("fusermount3", "-u", point).returncode, 0)
        built.wait_for(lambda: not remoting.fetchers(), "the fetcher's end")

    def test_mount_point_is_named_for_the_object(self):
        folder = self.folder / "here"
        folder.mkdir()
        done = self.recordfs("mount", self.prefix + "riegeli/simple_zstd9.riegeli", cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        points = list(folder.iterdir())
        self.assertEqual(len(points), 1)
        self.assertIn("simple_zstd9", points[0].name)
        self.assertEqual(mounting.run("fusermount3", "-u", points[0]).returncode, 0)

    def test_source_in_the_table_of_mounts_is_the_url(self):
        mounted = self.mount(self.prefix + "riegeli/simple_zstd9.riegeli")
        self.assertIn("riegeli/simple_zstd9.riegeli", mounting.mounts()[str(mounted.point)][1])

    def test_file_of_a_mount_is_read_by_many_at_once(self):
        remote = self.mount(self.prefix + "riegeli/multiblock_zstd.riegeli")
        expected = remoting.run(["cat", self.root / "riegeli/multiblock_zstd.riegeli"], self.environment()).out
        found = remoting.in_parallel(lambda _: (remote / "streams/concat").read_bytes(), range(16))
        self.assertEqual(set(found), {expected})


class S3(Http):
    def start(self):
        self.serve_s3(self.root.parent)
        self.prefix = f"s3://{self.root.name}/"


class Confined(mounting.ConfinedCase, remoting.Served):
    def test_daemon_cannot_reach_the_network_itself(self):
        """The process that parses has no socket of the internet; its fetcher has."""
        started = self.serve(built.corpus())
        mounted = self.mount(started.url("riegeli/simple_zstd9.riegeli"))
        self.assertEqual(len(os.listdir(mounted / "records")), 500)
        sockets = {Path(os.readlink(link)).name for link in Path(f"/proc/{mounted.daemon.pid}/fd").iterdir()
                   if os.readlink(link).startswith("socket:")}
        inodes = {row.split()[9] for table in ("tcp", "tcp6", "udp") for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]}
        self.assertFalse({name.strip("socket:[]") for name in sockets} & inodes)
        self.assertEqual(len(remoting.fetchers()), 1)
        if not is_sanitized():  # sanitizers need what is taken from the fetcher
            status = Path(f"/proc/{remoting.fetchers()[0]}/status").read_text(encoding="utf-8")
            self.assertRegex(status, r"NoNewPrivs:\s+1")
            self.assertRegex(status, r"Seccomp:\s+2")


if __name__ == "__main__":
    mounting.main()
