#!/usr/bin/env python3
"""The whole tree of a mount, for a Riegeli and a LevelDB container."""
import errno
import json
import os
import stat
from pathlib import Path

import mounting

RIEGELI = "riegeli/multiblock_zstd.riegeli"
LEVELDB = "leveldb_log/embedded-log.log"
ROOT_NAMES = ["info.json", "metadata", "records"]


def names(path):
    return sorted(os.listdir(path))


class Tree:
    """Tests for every format; a subclass sets the sample."""

    sample = ""

    def setUp(self):
        super().setUp()
        self.want = mounting.expectation(self.sample)
        self.source = mounting.sample(self.sample)
        self.top = self.mount(self.source).point
        self.records = [(self.top / "records" / name).read_bytes() for name in names(self.top / "records")]

    def test_root_directory_lists_each_record_once(self):
        self.assertEqual([name for name in names(self.top) if name != "trailer"], ROOT_NAMES)

    def test_records_are_those_of_the_writer(self):
        self.assertEqual(names(self.top / "records"), [f"{i:09}" for i in range(self.want["num_records"])])
        self.assertEqual(mounting.stream_digest(self.records), self.want["stream_sha256"])

    def test_info_contains_format_and_size(self):
        info = json.loads((self.top / "info.json").read_text(encoding="utf-8"))
        self.assertEqual(info["size"], self.source.stat().st_size)
        self.assertTrue(self.want["format"].startswith(info["format"].split("-")[0]), info["format"])

    def test_inode_numbers_are_unique(self):
        seen = {}
        for directory, below, files in os.walk(self.top):
            for name in [*below, *files]:
                number = os.lstat(os.path.join(directory, name)).st_ino
                self.assertGreater(number, 1)
                self.assertEqual(seen.setdefault(number, (directory, name)), (directory, name))

    def everything(self):
        for folder in [self.top, *sorted((self.top / ".views").iterdir())]:
            for directory, below, files in os.walk(folder):
                for name in [*below, *files]:
                    yield Path(directory) / name

    def test_times_owners_and_modes_are_those_of_the_source(self):
        changed = self.source.stat()
        for path in self.everything():
            st = path.lstat()
            self.assertEqual(st.st_nlink, 1, path)
            self.assertEqual((st.st_mtime_ns, st.st_uid, st.st_gid), (changed.st_mtime_ns, changed.st_uid, changed.st_gid))
            reading = changed.st_mode & 0o444
            if stat.S_ISREG(st.st_mode):
                self.assertEqual(stat.S_IMODE(st.st_mode), reading, path)
            elif stat.S_ISDIR(st.st_mode):
                self.assertEqual(stat.S_IMODE(st.st_mode), reading | reading >> 2 | (reading & 0o400) >> 1, path)

    def test_listings_return_types_and_inode_numbers(self):
        for folder in [self.top, self.top / "records", self.top / ".views", self.top / "chunks", self.top / "index"]:
            with os.scandir(folder) as entries:
                for entry in entries:
                    st = os.lstat(entry.path)
                    self.assertEqual((entry.inode(), entry.is_dir(follow_symlinks=False), entry.is_symlink()),
                                     (st.st_ino, stat.S_ISDIR(st.st_mode), stat.S_ISLNK(st.st_mode)), entry.path)

    def test_chunk_info_contains_the_metadata_in_effect_and_the_decoded_size(self):
        mounted = self.mount(mounting.sample("riegeli/metadata_full_simple_uncompressed.riegeli"))
        known = json.loads((mounted / "info.json").read_text(encoding="utf-8"))["metadata"]
        self.assertGreater(len(known), 0)
        for name in os.listdir(mounted / "chunks"):
            info = json.loads((mounted / "chunks" / name / "info.json").read_text(encoding="utf-8"))
            self.assertEqual(info["metadata"], known)
            self.assertEqual(info["decoded"], (mounted / "chunks" / name / "data").stat().st_size)

    def test_metadata_directory_has_the_last_value_and_info_the_first(self):
        mounted = self.mount(mounting.sample("proio/c16-metadata.proio"))
        info = json.loads((mounted / "info.json").read_text(encoding="utf-8"))
        first = [one["text"] for one in info["metadata"] if one["key"] == "run"]
        self.assertEqual((info["metadata_scope"], first), ("first chunk", ["run 0"]))
        last = (mounted / "metadata/run").read_text(encoding="utf-8")
        self.assertEqual((info["metadata_directory_scope"], last), ("last chunk", "run 9"))

    def test_name_longer_than_255_bytes_is_refused(self):
        for folder in ("", "records", ".views/chunks"):
            self.assert_fails_with(errno.ENOENT, os.lstat, self.top / folder / ("x" * 255))
            self.assert_fails_with(errno.ENAMETOOLONG, os.lstat, self.top / folder / ("x" * 256))

    def test_changes_fail_with_erofs(self):
        path = self.top / "records" / "000000000"
        self.assert_fails_with(errno.EROFS, os.open, path, os.O_WRONLY)
        self.assert_fails_with(errno.EROFS, os.unlink, path)
        self.assert_fails_with(errno.EROFS, os.mkdir, self.top / "new")
        self.assert_fails_with(errno.EROFS, os.chmod, path, 0o777)


class RiegeliTree(Tree, mounting.Case):
    sample = RIEGELI


class LeveldbTree(Tree, mounting.Case):
    sample = LEVELDB


class SeveralContainers(mounting.Case):
    def test_each_file_has_a_directory(self):
        top = self.mount(mounting.sample(RIEGELI), mounting.sample(LEVELDB)).point
        self.assertEqual(names(top), sorted([Path(RIEGELI).name, Path(LEVELDB).name]))
        for name in (RIEGELI, LEVELDB):
            folder = top / Path(name).name
            records = [(folder / "records" / record).read_bytes() for record in names(folder / "records")]
            self.assertEqual(mounting.stream_digest(records), mounting.expectation(name)["stream_sha256"])

    def test_nest_shows_one_container_in_its_own_directory(self):
        top = self.mount(mounting.sample(RIEGELI), options=["nest"]).point
        self.assertEqual(names(top), [Path(RIEGELI).name])
        self.assertEqual((top / Path(RIEGELI).name / "..").stat().st_ino, top.stat().st_ino)

    def test_inode_number_of_the_mount_is_1(self):
        top = self.mount(mounting.sample(RIEGELI), options=["nest"]).point
        self.assertEqual(top.stat().st_ino, 1)

    def test_dot_dot_of_a_view_is_the_views_directory(self):
        top = self.mount(mounting.sample(RIEGELI)).point
        self.assertEqual((top / ".views/chunks/..").stat().st_ino, (top / ".views").stat().st_ino)


class OddContainers(mounting.Case):
    def test_container_without_records_has_empty_directories(self):
        for name in ("riegeli/no_records.riegeli", "riegeli/empty_0_bytes.riegeli", "leveldb_log/empty.log"):
            top = self.mount(mounting.sample(name)).point
            self.assertEqual(os.listdir(top / "records"), [], name)
            self.assertEqual((top / "streams/concat").read_bytes(), b"", name)
            self.assertEqual(os.listdir(top / "thousands"), [], name)


if __name__ == "__main__":
    mounting.main()
