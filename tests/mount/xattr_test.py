#!/usr/bin/env python3
"""Extended attributes of records and chunks (-o xattr), and record names with a suffix (-o record_suffix)."""
import errno
import os
import signal

import mounting

SAMPLE = "riegeli/multiblock_zstd.riegeli"
RECORDS = 1250
TEXT = "riegeli/simple_zstd9.riegeli"
WITH_TYPE = "riegeli/metadata_full_simple_uncompressed.riegeli"
OUT_OF_ORDER = "bloscpack/vl-out-of-order.blp"
NAMES = [f"user.recordfs.{name}" for name in ("ordinal", "chunk", "index", "offset", "codec", "checksum")] + ["user.mime_type"]


def attributes(path):
    return {name: os.getxattr(path, name).decode() for name in os.listxattr(path)}


def rows(top):
    """Returns a dictionary of index/chunks.tsv for each chunk that contains records."""
    head, *lines = (top / "index/chunks.tsv").read_text(encoding="ascii").splitlines()
    every = [dict(zip(head.split("\t"), line.split("\t"))) for line in lines]
    return [row for row in every if row["records"] != "0"]


def chunk_of(mounted, row):
    return mounted / "chunks" / f"{int(row['begin']):015}"


class Extended(mounting.Case):
    def test_records_have_attributes_of_their_position(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["xattr"])
        for row in rows(mounted.point):
            chunk = chunk_of(mounted, row)
            data = (chunk / "data").read_bytes()
            for index in {0, int(row["records"]) - 1}:
                ordinal = int(row["first_ordinal"]) + index
                record = mounted / "records" / f"{ordinal:09}"
                found = attributes(record)
                self.assertEqual(list(found), NAMES)
                self.assertEqual(found, attributes(chunk / "records" / str(index)))
                self.assertEqual([found[name] for name in NAMES[:3]], [str(ordinal), row["begin"], str(index)])
                self.assertEqual((found[NAMES[4]], found[NAMES[5]]), (row["codec"], "good"))
                offset = int(found["user.recordfs.offset"])
                self.assertEqual(data[offset:offset + record.stat().st_size], record.read_bytes())
                self.assertEqual(found["user.mime_type"], "application/octet-stream")

    def test_text_records_have_a_text_type(self):
        mounted = self.mount(mounting.sample(TEXT), options=["xattr"])
        self.assertEqual(os.getxattr(mounted / "records/42", "user.mime_type"), b"text/plain; charset=utf-8")

    def test_reading_the_ordinal_waits_for_the_catalog(self):
        """The record is opened through its chunk, before any scan."""
        begin = rows(self.mount(mounting.sample(SAMPLE)).point)[-1]["begin"]
        mounted = self.mount(mounting.sample(SAMPLE), options=["xattr"])
        record = mounted / f"chunks/{begin}/records/0"
        self.assertEqual(os.getxattr(record, "user.recordfs.index"), b"0")
        ordinal = int(os.getxattr(record, "user.recordfs.ordinal"))
        self.assertEqual((mounted / f"records/{ordinal}").read_bytes(), record.read_bytes())

    def test_chunks_have_codec_and_checksum_and_other_files_nothing(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["xattr"])
        self.assertEqual(attributes(chunk_of(mounted, rows(mounted.point)[0])), {"user.recordfs.codec": "zstd", "user.recordfs.checksum": "good"})
        for name in ("", "info.json", "records", ".views/streams/lines", "chunks"):
            self.assertEqual(os.listxattr(mounted / name, follow_symlinks=False), [], name)

    def test_unknown_attributes_fail_with_enodata(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["xattr"])
        record = mounted / "records/000000000"
        for name in ("user.recordfs.nothing", "user.other"):
            self.assert_fails_with(errno.ENODATA, os.getxattr, record, name)
        self.assert_fails_with(errno.ENODATA, os.getxattr, mounted / "info.json", "user.mime_type")
        # ls and cp look for attributes.
        for program in (["ls", "-l"], ["cp", "-a", "-t", self.folder]):
            done = mounting.run(*program, record)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_setting_an_attribute_fails_with_erofs(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["xattr"])
        self.assert_fails_with(errno.EROFS, os.setxattr, mounted / "records/000000000", "user.mime_type", b"x")

    def test_damaged_chunk_has_a_bad_checksum(self):
        damaged = mounting.with_bit_flipped(self.copy(SAMPLE), 84003)
        mounted = self.mount(damaged, options=["xattr"])
        chunk = mounted / "chunks/000000000083928"
        record = chunk / "records/000000"
        self.assertEqual(os.getxattr(chunk, "user.recordfs.checksum"), b"bad")
        self.assertEqual(os.getxattr(record, "user.recordfs.checksum"), b"bad")
        self.assertEqual(os.getxattr(record, "user.recordfs.chunk"), b"83928")
        self.assert_fails_with(errno.EIO, os.getxattr, record, "user.mime_type")

    def test_type_comes_from_the_metadata(self):
        mounted = self.mount(mounting.sample(WITH_TYPE), options=["xattr"])
        self.assertEqual(os.getxattr(mounted / "records/0", "user.mime_type"), b"application/x-protobuf")

    def test_ordinals_follow_the_chunk_order_of_the_format(self):
        mounted = self.mount(mounting.sample(OUT_OF_ORDER), options=["xattr"])
        names = sorted(os.listdir(mounted / "records"))
        found = [int(os.getxattr(mounted / "records" / name, "user.recordfs.ordinal")) for name in names]
        self.assertEqual(found, list(range(len(names))))
        begins = [int(os.getxattr(mounted / "records" / name, "user.recordfs.chunk")) for name in names]
        self.assertNotEqual(begins, sorted(begins))

    def test_without_the_option_the_kernel_asks_only_once(self):
        mounted = self.mount(mounting.sample(SAMPLE))
        for name in sorted(os.listdir(mounted / "records"))[:50]:
            self.assert_fails_with(errno.EOPNOTSUPP, os.getxattr, mounted / "records" / name, "user.mime_type")
            self.assert_fails_with(errno.EOPNOTSUPP, os.listxattr, mounted / "records" / name)
        mounted.send(signal.SIGUSR1)
        self.assertRegex(mounted.wait_for_log("requests: "), "getxattr 1, listxattr 1")

    @mounting.only_root
    def test_ordinary_user_can_read_attributes(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["xattr"], user=mounting.NOBODY)
        script = "import os, sys; print(os.getxattr(sys.argv[1], 'user.recordfs.ordinal').decode())"
        done = mounting.run("python3", "-c", script, mounted / "records/7", user=mounting.NOBODY)
        self.assertEqual((done.stdout, done.stderr), ("7\n", ""))


class Suffix(mounting.Case):
    def test_suffix_is_listed_in_every_view(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["record_suffix=.pb"])
        names = sorted(os.listdir(mounted / "records"))
        self.assertEqual((names[0], names[-1], len(names)), ("000000000.pb", "000001249.pb", RECORDS))
        self.assertEqual(sorted(os.listdir(mounted / "thousands/000001"))[-1], "000001249.pb")
        chunk = chunk_of(mounted, rows(mounted.point)[0])
        self.assertEqual(sorted(os.listdir(chunk / "records"))[0], "000000.pb")

    def test_records_are_found_with_and_without_the_suffix(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["record_suffix=.pb"])
        numbers = {os.stat(mounted / name).st_ino for name in
                   ("records/000000042.pb", "records/000000042", "records/42", "records/42.pb", "thousands/0/42.pb")}
        self.assertEqual(len(numbers), 1)
        self.assert_fails_with(errno.ENOENT, os.stat, mounted / "records/42.pbx")

    def test_suffix_changes_neither_bytes_nor_inode_numbers(self):
        plain, suffixed = self.mount(mounting.sample(SAMPLE)), self.mount(mounting.sample(SAMPLE), options=["record_suffix=_x"])
        for name in sorted(os.listdir(plain / "records"))[::100]:
            self.assertEqual((plain / "records" / name).stat().st_ino, (suffixed / f"records/{name}_x").stat().st_ino)
            self.assertEqual((plain / "records" / name).read_bytes(), (suffixed / f"records/{name}_x").read_bytes())

    def test_suffix_applies_to_containers_of_a_mirrored_directory(self):
        (self.folder / "source").mkdir()
        self.copy(SAMPLE, "source/a.riegeli")
        (self.folder / "source/plain.txt").write_text("text", encoding="utf-8")
        mounted = self.mount(self.folder / "source", options=["record_suffix=.pb,xattr"])
        self.assertEqual(sorted(os.listdir(mounted.point)), ["a.riegeli", "plain.txt"])
        self.assertIn("000000042.pb", os.listdir(mounted / "a.riegeli/records"))
        self.assertEqual(os.getxattr(mounted / "a.riegeli/records/42", "user.recordfs.ordinal"), b"42")
        for name in ("", "a.riegeli", "plain.txt"):
            self.assertEqual(os.listxattr(mounted / name), [], name)

    def test_suffix_pb_gives_the_protobuf_type(self):
        mounted = self.mount(mounting.sample(SAMPLE), options=["xattr,record_suffix=.pb"])
        self.assertEqual(os.getxattr(mounted / "records/0", "user.mime_type"), b"application/x-protobuf")

    def test_invalid_suffixes_are_refused(self):
        for suffix in ("", "/", "a/b", "9", "0x", "x" * 33):
            done = self.recordfs(mounting.sample(SAMPLE), self.new_point(), "-o", f"record_suffix={suffix}")
            self.assertEqual(done.returncode, 1, suffix)
            self.assertIn("record_suffix", done.stderr)


if __name__ == "__main__":
    mounting.main()
