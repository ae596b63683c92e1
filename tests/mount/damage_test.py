#!/usr/bin/env python3
"""Damaged containers: damaged parts fail and are named, and the rest is served."""
import contextlib
import errno
import json
import os
import re
import subprocess

import mounting

BASE = "riegeli/multiblock_zstd.riegeli"
DAMAGED = ["riegeli/dmg_flip_header.riegeli", "riegeli/dmg_flip_first_signature.riegeli",
           "riegeli/dmg_truncate_13816.riegeli", "riegeli/dmg_truncate_13851.riegeli", "riegeli/dmg_truncate_21031.riegeli"]
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

    def test_readable_records_are_those_of_the_undamaged_file(self):
        """Finds at least as many as the format's own reader, and none that the undamaged file does not have."""
        whole = set(self.readable(self.records(self.mount(mounting.sample(BASE)))))
        for name in DAMAGED:
            with self.subTest(sample=name):
                found = self.readable(self.records(self.mount(mounting.sample(name))))
                self.assertEqual(sum(record not in whole for record in found), 0)
                self.assertGreaterEqual(len(found), mounting.expectation(name)["num_records"])

    def test_every_lost_record_is_reported(self):
        for name in DAMAGED:
            with self.subTest(sample=name):
                mounted = self.mount(mounting.sample(name))
                failed = any(isinstance(what, int) for what in self.records(mounted).values())
                self.assertTrue(failed or self.damage_rows(mounted), "unreported damage")

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

    def test_chunk_info_reports_a_bad_checksum(self):
        source = self.with_bad_data()
        mounted = self.mount(source)
        info = json.loads((mounted / "chunks/000000000083928/info.json").read_text(encoding="utf-8"))
        self.assertEqual((info["checksum"], info["records"]), ("bad", 51))
        self.assertIn("reason", info)
        self.assert_fails_with(errno.EIO, (mounted / "chunks/000000000083928/data").read_bytes)
        raw = (mounted / "chunks/000000000083928/raw").read_bytes()
        self.assertEqual(raw, source.read_bytes()[info["begin"]:info["end"]])

    def test_bad_chunk_header_is_a_damaged_region_with_its_raw_bytes(self):
        source = mounting.sample("riegeli/dmg_flip_header.riegeli")
        mounted = self.mount(source)
        rows = self.damage_rows(mounted)
        self.assertEqual(int(rows[0]["begin"]), 83928)
        self.assertEqual({row["class"] for row in rows}, {"damage"})
        for row in rows:
            begin, end = int(row["begin"]), int(row["end"])
            self.assertEqual((mounted / "damage" / f"{begin:015}").read_bytes(), source.read_bytes()[begin:end])
            self.assertFalse((mounted / "chunks" / f"{begin:015}").exists())
        self.assertEqual(sorted(os.listdir(mounted / "damage")), [f"{int(row['begin']):015}" for row in rows])

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

    def test_unfinished_tail_is_classified_as_unfinished(self):
        for name in ("riegeli/dmg_truncate_13851.riegeli", "riegeli/dmg_truncate_13871.riegeli"):
            rows = self.damage_rows(self.mount(mounting.sample(name)))
            self.assertEqual([(row["begin"], row["class"]) for row in rows], [("13811", "unfinished")], name)

    def test_summary_counts_the_damage(self):
        mounted = self.mount(mounting.sample("riegeli/dmg_flip_header.riegeli"))
        summary = json.loads((mounted / "index/summary.json").read_text(encoding="utf-8"))
        rows = self.damage_rows(mounted)
        self.assertEqual(summary["damaged_regions"], len(rows))
        self.assertEqual(summary["damaged_bytes"], sum(int(row["end"]) - int(row["begin"]) for row in rows))

    def test_streams_fail_at_the_damage_and_are_correct_before_it(self):
        truth = (self.mount(mounting.sample(BASE)) / "streams/concat").read_bytes()
        mounted = self.mount(self.with_bad_data())
        done = mounting.run("bash", "-c", f"cat {mounted.point}/streams/concat > {self.folder}/out")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Input/output error", done.stderr)
        got = (self.folder / "out").read_bytes()
        self.assertTrue(truth.startswith(got))
        self.assertEqual((mounted / "streams/concat").stat().st_size, len(truth))

    def test_stream_continues_after_the_damage(self):
        truth = (self.mount(mounting.sample(BASE)) / "streams/concat").read_bytes()
        mounted = self.mount(self.with_bad_data())
        good = bad = 0
        with (mounted / "streams/concat").open("rb", buffering=0) as file:
            for at in range(0, len(truth), 4096):
                with contextlib.suppress(OSError):
                    got = os.pread(file.fileno(), 4096, at)
                    self.assertEqual(got, truth[at:at + 4096], at)
                    good += 1
                    continue
                bad += 1
        self.assertEqual((good > 40, bad in range(2, 5)), (True, True), (good, bad))

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

    def test_every_damaged_sample_can_be_listed_and_read(self):
        for path in sorted(mounting.sample("riegeli").glob("bad_*.riegeli")) + sorted(
                mounting.sample("leveldb_log/damaged").glob("*.log")):
            with self.subTest(sample=path.name):
                done = self.recordfs(path, point := self.new_point())
                if done.returncode == 2:
                    continue
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                for name in os.listdir(point / "records"):
                    with contextlib.suppress(OSError):
                        (point / "records" / name).read_bytes()
                for name in ("streams/concat", "streams/lines", "index/damage.tsv", "index/chunks.tsv", "index/summary.json"):
                    size = (point / name).stat().st_size
                    with contextlib.suppress(OSError):
                        self.assertEqual(len((point / name).read_bytes()), size, name)
                self.assertEqual(len(mounting.daemons(point)), 1)
                self.assertEqual(mounting.run("fusermount3", "-u", point).returncode, 0)


if __name__ == "__main__":
    mounting.main()
