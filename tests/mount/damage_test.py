#!/usr/bin/env python3
"""Damaged containers: damaged parts fail and are named, and the rest is served."""
import errno
import os
import re
import subprocess

import mounting

BASE = "riegeli/multiblock_zstd.riegeli"
REFUSALS = (errno.EIO, errno.EOPNOTSUPP)


class Damage(mounting.Case):
    def records(self, mounted):
        """Returns {name: bytes or errno} of every listed record."""
        found = {}
        for name in sorted(os.listdir(mounted / "records")):
            try:
                found[name] = (mounted / "records" / name).read_bytes()
            except OSError as failed:
                found[name] = failed.errno
        return found

    def with_bad_data(self):
        """Returns a copy of BASE with one bit flipped in the data of the chunk at byte 83928."""
        return mounting.with_bit_flipped(self.copy(BASE), 84003)

    def damage_rows(self, mounted):
        header, *lines = (mounted / "index/damage.tsv").read_text(encoding="utf-8").splitlines()
        return [dict(zip(header.split("\t"), line.split("\t"))) for line in lines]

    def readable(self, found):
        self.assertEqual({what for what in found.values() if isinstance(what, int)} - set(REFUSALS), set())
        return [what for what in found.values() if isinstance(what, bytes)]

    def test_records_with_bad_data_fail_and_ordinals_are_unchanged(self):
        mounted = self.mount(self.with_bad_data())
        truth = self.records(self.mount(mounting.sample(BASE)))
        found = self.records(mounted)
        lost = [name for name in found if found[name] == errno.EIO]
        self.assertEqual(len(lost), 51)
        self.assertEqual([name for name in truth if name not in lost and found.get(name) != truth[name]], [])
        self.assertEqual(len(found), len(truth))

    def test_log_names_file_position_and_reason_once(self):
        source = self.with_bad_data()
        mounted = self.mount(source)
        self.records(mounted)
        self.records(mounted)
        line = mounted.wait_for_log(re.escape(str(source)))
        self.assertRegex(line, r"^recordfs: .*: byte 83928: .*(hash|checksum)")
        self.assertEqual(mounted.log().count("83928"), line.count("83928"), mounted.log())

    def test_records_that_fail_have_a_size_above_zero(self):
        mounted = self.mount(self.with_bad_data())
        for name, what in self.records(mounted).items():
            if isinstance(what, int):
                self.assertGreater((mounted / "records" / name).stat().st_size, 0)

    def test_records_that_declare_2_62_bytes_fail_with_eio_in_every_view(self):
        mounted = self.mount(mounting.sample("riegeli/declared_size_2_62.riegeli"))
        found = self.records(mounted)
        self.assertEqual(list(found.values()), [b"before", *[errno.EIO] * 5, b"behind"])
        chunks = sorted((mounted / "chunks").iterdir())[2:7]
        lost = [mounted / "records" / name for name in list(found)[1:6]]
        lost += [chunk / name for chunk in chunks for name in ("data", "records/000000")]
        for path in lost:
            self.assertEqual(path.stat().st_size, 1, path)
            self.assert_fails_with(errno.EIO, path.read_bytes)
            copied = subprocess.run(["cp", path, self.folder / "copy"], capture_output=True, text=True, check=False)
            self.assertIn("Input/output error", copied.stderr)
        for name, size in (("concat", 6 + 5 + 6), ("lines", 7 + 5 * 2 + 7)):
            stream = mounted / "streams" / name
            self.assertEqual(stream.stat().st_size, size)
            self.assert_fails_with(errno.EIO, stream.read_bytes)

    def test_log_names_each_damaged_region_once(self):
        for name in ("riegeli/dmg_flip_header.riegeli", "leveldb_log/damaged/crc-flip-first.log"):
            source = mounting.sample(name)
            mounted = self.mount(source)
            rows = self.damage_rows(mounted)
            self.assertGreater(len(rows), 0)
            self.records(mounted)
            for row in rows:
                line = f"recordfs: {source}: bytes {row['begin']} to {row['end']}: {row['class']}: {row['reason']}; "
                self.assertEqual(mounted.log().count(line), 1, mounted.log())

    def test_streams_fail_at_the_damage_and_are_correct_before_it(self):
        truth = (self.mount(mounting.sample(BASE)) / "streams/concat").read_bytes()
        mounted = self.mount(self.with_bad_data())
        done = mounting.run("bash", "-c", f"cat {mounted.point}/streams/concat > {self.folder}/out")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Input/output error", done.stderr)
        got = (self.folder / "out").read_bytes()
        self.assertTrue(truth.startswith(got))
        self.assertEqual((mounted / "streams/concat").stat().st_size, len(truth))

    def test_missing_codec_is_not_reported_as_damage(self):
        mounted = self.mount(mounting.sample("riegeli/bad_compression_type.riegeli"))
        found = self.records(mounted)
        self.assertIn(errno.EOPNOTSUPP, found.values())
        self.assertNotIn(errno.EIO, found.values())
        self.assertEqual(len(self.readable(found)), mounting.expectation("riegeli/bad_compression_type.riegeli")["num_records"])

    def test_record_that_fails_in_a_stream_is_logged(self):
        for stream in ("streams/concat", "streams/lines", "chunks/{first}/data"):
            mounted = self.mount(mounting.sample("leveldb_log/rocksdb-direct/zstd-unknown-compression.log"))
            stream = stream.format(first=min(os.listdir(mounted / "chunks")))
            self.assert_fails_with(errno.EOPNOTSUPP, (mounted / stream).read_bytes)
            mounted.wait_for_log("zstd-unknown-compression.log: byte ")


if __name__ == "__main__":
    mounting.main()
