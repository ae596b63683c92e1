#!/usr/bin/env python3
"""Extended attributes of records and chunks (-o xattr), and record names with a suffix (-o record_suffix)."""
import errno
import os
import signal

import mounting

SAMPLE = "riegeli/multiblock_zstd.riegeli"
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

    def test_reading_the_ordinal_waits_for_the_catalog(self):
        """The record is opened through its chunk, before any scan."""
        begin = rows(self.mount(mounting.sample(SAMPLE)).point)[-1]["begin"]
        mounted = self.mount(mounting.sample(SAMPLE), options=["xattr"])
        record = mounted / f"chunks/{begin}/records/0"
        self.assertEqual(os.getxattr(record, "user.recordfs.index"), b"0")
        ordinal = int(os.getxattr(record, "user.recordfs.ordinal"))
        self.assertEqual((mounted / f"records/{ordinal}").read_bytes(), record.read_bytes())

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

    def test_invalid_suffixes_are_refused(self):
        for suffix in ("", "/", "a/b", "9", "0x", "x" * 33):
            done = self.recordfs(mounting.sample(SAMPLE), self.new_point(), "-o", f"record_suffix={suffix}")
            self.assertEqual(done.returncode, 1, suffix)
            self.assertIn("record_suffix", done.stderr)


if __name__ == "__main__":
    mounting.main()
