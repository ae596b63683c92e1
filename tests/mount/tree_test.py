#!/usr/bin/env python3
"""The whole tree of a mount, for a Riegeli and a LevelDB container."""
import errno
import hashlib
import json
import os
import stat
from pathlib import Path

import mounting

RIEGELI = "riegeli/multiblock_zstd.riegeli"
LEVELDB = "leveldb_log/embedded-log.log"
ROOT_NAMES = ["info.json", "metadata", "records"]
VIEWS = ["chunks", "damage", "index", "streams", "thousands"]


def rows(path):
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"))) for line in lines]


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

    def test_sampled_records_have_the_expected_hash(self):
        for record in self.want["sample"]:
            got = (self.top / "records" / f"{record['ordinal']:09}").read_bytes()
            self.assertEqual(hashlib.sha256(got).hexdigest(), record["sha256"])

    def test_info_contains_format_and_size(self):
        info = json.loads((self.top / "info.json").read_text(encoding="utf-8"))
        self.assertEqual(info["size"], self.source.stat().st_size)
        self.assertTrue(self.want["format"].startswith(info["format"].split("-")[0]), info["format"])

    def test_views_are_found_by_name_and_not_listed(self):
        self.assertEqual(set(os.listdir(self.top)).intersection([".views", *VIEWS]), set())
        self.assertEqual([view for view in names(self.top / ".views") if view not in ("keys", "inside")], VIEWS)
        for view in VIEWS:
            self.assertEqual(os.readlink(self.top / view), f".views/{view}")
            self.assertTrue((self.top / ".views" / view).is_dir())

    def test_raw_bytes_of_chunks_are_those_of_the_file(self):
        whole = self.source.read_bytes()
        for row in rows(self.top / "index" / "chunks.tsv"):
            begin, end = int(row["begin"]), int(row["end"])
            chunk = self.top / "chunks" / f"{begin:015}"
            self.assertEqual((chunk / "raw").read_bytes(), whole[begin:end])
            info = json.loads((chunk / "info.json").read_text(encoding="utf-8"))
            self.assertEqual((info["begin"], info["end"], info["checksum"]), (begin, end, "good"))
            self.assertEqual(names(chunk), ["data", "info.json", "raw", "records", "records.jsonl"])

    def test_chunks_contain_the_records_in_order(self):
        gathered = []
        for chunk in sorted((self.top / "chunks").iterdir()):
            here = [(chunk / "records" / name).read_bytes() for name in names(chunk / "records")]
            self.assertEqual(names(chunk / "records"), [f"{i:06}" for i in range(len(here))])
            self.assertEqual((chunk / "data").read_bytes(), b"".join(here))
            gathered += here
        self.assertEqual(gathered, self.records)

    def test_chunks_tsv_lists_all_chunks_and_records(self):
        ordinal = 0
        for row in rows(self.top / "index" / "chunks.tsv"):
            self.assertEqual(int(row["first_ordinal"]), ordinal)
            ordinal += int(row["records"])
        self.assertEqual(ordinal, self.want["num_records"])
        self.assertEqual(names(self.top / "chunks"), sorted(f"{int(r['begin']):015}" for r in rows(self.top / "index/chunks.tsv")))

    def test_summary_counts_the_whole_file(self):
        summary = json.loads((self.top / "index" / "summary.json").read_text(encoding="utf-8"))
        self.assertEqual(summary["records"], self.want["num_records"])
        self.assertEqual(summary["decoded"], sum(map(len, self.records)))
        self.assertEqual((summary["damaged_regions"], summary["damaged_bytes"]), (0, 0))

    def test_undamaged_file_has_no_damage(self):
        self.assertEqual(os.listdir(self.top / "damage"), [])
        self.assertEqual(rows(self.top / "index" / "damage.tsv"), [])

    def test_streams_concatenate_the_records(self):
        self.assertEqual((self.top / "streams/concat").read_bytes(), b"".join(self.records))
        self.assertEqual((self.top / "streams/lines").read_bytes(), b"".join(r + b"\n" for r in self.records))

    def test_thousands_contain_a_thousand_records_each(self):
        found = []
        for thousand in names(self.top / "thousands"):
            inside = names(self.top / "thousands" / thousand)
            self.assertTrue(all(int(name) // 1000 == int(thousand) for name in inside))
            found += inside
        self.assertEqual(found, names(self.top / "records"))

    def test_record_has_one_inode_in_every_view(self):
        for row in rows(self.top / "index" / "chunks.tsv"):
            for index in {0, int(row["records"]) - 1} if int(row["records"]) else ():
                ordinal = int(row["first_ordinal"]) + index
                chunk = self.top / "chunks" / f"{int(row['begin']):015}"
                views = [self.top / "records" / f"{ordinal:09}", chunk / "records" / f"{index:06}",
                         self.top / "thousands" / f"{ordinal // 1000:06}" / f"{ordinal:09}"]
                self.assertEqual(len({path.stat().st_ino for path in views}), 1, views)

    def test_inode_numbers_are_unique(self):
        seen = {}
        for directory, below, files in os.walk(self.top):
            for name in [*below, *files]:
                number = os.lstat(os.path.join(directory, name)).st_ino
                self.assertGreater(number, 1)
                self.assertEqual(seen.setdefault(number, (directory, name)), (directory, name))

    def test_inode_numbers_are_the_same_in_another_mount(self):
        other = self.mount(self.source).point
        for name in ["records/000000000", "info.json", ".views/index", "records"]:
            self.assertEqual((self.top / name).stat().st_ino, (other / name).stat().st_ino)

    def everything(self):
        for folder in [self.top, *sorted((self.top / ".views").iterdir())]:
            for directory, below, files in os.walk(folder):
                for name in [*below, *files]:
                    yield Path(directory) / name

    def test_sizes_are_exact(self):
        for path in self.everything():
            st = path.lstat()
            if stat.S_ISREG(st.st_mode):
                self.assertEqual(len(path.read_bytes()), st.st_size, path)
                self.assertEqual(st.st_blocks, (st.st_size + 511) // 512, path)
            elif stat.S_ISLNK(st.st_mode):
                self.assertEqual(len(os.readlink(path)), st.st_size, path)

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

    def test_short_names_are_aliases(self):
        self.assertEqual((self.top / "records/1").stat().st_ino, (self.top / "records/000000001").stat().st_ino)
        begin = max(int(name) for name in os.listdir(self.top / "chunks"))
        if begin:
            self.assertEqual(os.readlink(self.top / f"chunks/{begin}"), f"{begin:015}")
        self.assertEqual(os.readlink(self.top / "thousands/0"), "000000")

    def test_unknown_names_are_not_found(self):
        beyond = self.want["num_records"]
        for name in [f"records/{beyond:09}", "records/x", "records/-1", "chunks/1", "thousands/1000000",
                     "damage/0", "nothing", "records/000000000/x", "index/other", "metadata/none"]:
            with self.assertRaises(OSError) as raised:
                os.lstat(self.top / name)
            self.assertIn(raised.exception.errno, (errno.ENOENT, errno.ENOTDIR), name)

    def test_name_longer_than_255_bytes_is_refused(self):
        for folder in ("", "records", ".views/chunks"):
            self.assert_fails_with(errno.ENOENT, os.lstat, self.top / folder / ("x" * 255))
            self.assert_fails_with(errno.ENAMETOOLONG, os.lstat, self.top / folder / ("x" * 256))

    def test_position_in_the_middle_of_a_chunk_is_not_found(self):
        for row in rows(self.top / "index" / "chunks.tsv"):
            middle = (int(row["begin"]) + int(row["end"])) // 2
            self.assertFalse((self.top / "chunks" / f"{middle:015}").exists())

    def test_changes_fail_with_erofs(self):
        path = self.top / "records" / "000000000"
        self.assert_fails_with(errno.EROFS, os.open, path, os.O_WRONLY)
        self.assert_fails_with(errno.EROFS, os.unlink, path)
        self.assert_fails_with(errno.EROFS, os.mkdir, self.top / "new")
        self.assert_fails_with(errno.EROFS, os.chmod, path, 0o777)

    def test_listing_returns_each_name_once(self):
        whole = os.listdir(self.top / "records")
        with os.scandir(self.top / "records") as entries:
            first = next(entries).name
        self.assertEqual(first, whole[0])
        self.assertEqual(len(set(whole)), len(whole))


class RiegeliTree(Tree, mounting.Case):
    sample = RIEGELI

    def test_chunks_are_those_of_the_writer(self):
        want = [(chunk["begin"], chunk["end"], chunk["num_records"]) for chunk in self.want["chunks"]]
        got = [(int(r["begin"]), int(r["end"]), int(r["records"])) for r in rows(self.top / "index/chunks.tsv")]
        self.assertEqual(got, want)

    def test_second_thousand_starts_at_1000(self):
        self.assertEqual(names(self.top / "thousands"), ["000000", "000001"])
        self.assertEqual(names(self.top / "thousands/000001")[0], "000001000")


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

    def test_equal_names_get_a_suffix(self):
        (self.folder / "other").mkdir()
        other = self.copy("riegeli/simple_snappy.riegeli", f"other/{Path(RIEGELI).name}")
        top = self.mount(mounting.sample(RIEGELI), other, mounting.sample(RIEGELI)).point
        base = Path(RIEGELI).name
        self.assertEqual(names(top), [base, f"{base}~2", f"{base}~3"])
        self.assertEqual(len(os.listdir(top / f"{base}~2" / "records")), 500)

    def test_nest_shows_one_container_in_its_own_directory(self):
        top = self.mount(mounting.sample(RIEGELI), options=["nest"]).point
        self.assertEqual(names(top), [Path(RIEGELI).name])
        self.assertEqual((top / Path(RIEGELI).name / "..").stat().st_ino, top.stat().st_ino)

    def test_containers_share_no_inode_numbers(self):
        top = self.mount(mounting.sample(RIEGELI), self.copy(RIEGELI)).point
        numbers = [os.lstat(os.path.join(directory, name)).st_ino
                   for directory, below, files in os.walk(top) for name in [*below, *files]]
        self.assertEqual(len(set(numbers)), len(numbers))

    def test_inode_number_of_the_mount_is_1(self):
        top = self.mount(mounting.sample(RIEGELI), options=["nest"]).point
        self.assertEqual(top.stat().st_ino, 1)

    def test_dot_dot_of_a_view_is_the_views_directory(self):
        top = self.mount(mounting.sample(RIEGELI)).point
        self.assertEqual((top / ".views/chunks/..").stat().st_ino, (top / ".views").stat().st_ino)


class OddContainers(mounting.Case):
    def test_empty_record_is_an_empty_file(self):
        top = self.mount(mounting.sample("riegeli/one_empty_record.riegeli")).point
        self.assertEqual([path.stat().st_size for path in (top / "records").iterdir()], [0])
        self.assertEqual((top / "streams/lines").read_bytes(), b"\n")

    def test_container_of_empty_records_has_empty_files(self):
        top = self.mount(mounting.sample("riegeli/empty_records_1000_brotli.riegeli")).point
        self.assertEqual({path.stat().st_size for path in (top / "records").iterdir()}, {0})
        self.assertEqual((top / "streams/lines").read_bytes(), b"\n" * 1000)

    def test_container_without_records_has_empty_directories(self):
        for name in ("riegeli/no_records.riegeli", "riegeli/empty_0_bytes.riegeli", "leveldb_log/empty.log"):
            top = self.mount(mounting.sample(name)).point
            self.assertEqual(os.listdir(top / "records"), [], name)
            self.assertEqual((top / "streams/concat").read_bytes(), b"", name)
            self.assertEqual(os.listdir(top / "thousands"), [], name)

    def test_record_larger_than_a_page_is_readable(self):
        name = "leveldb_log/embedded-log.log"
        top = self.mount(mounting.sample(name)).point
        records = [path.read_bytes() for path in sorted((top / "records").iterdir())]
        self.assertEqual(mounting.stream_digest(records), mounting.expectation(name)["stream_sha256"])


if __name__ == "__main__":
    mounting.main()
