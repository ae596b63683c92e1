#!/usr/bin/env python3
"""recordfs recover: the records of its output, and what it reports.

RECORDFS_MUTATIONS is how many damaged copies of samples are recovered, and RECORDFS_MUTATION_SEED chooses them.
RECORDFS_REFERENCE is a program that gets a format and a file: it prints the number of records that another reader finds,
and the SHA-256 of these records, each after its length in 8 bytes, least first. Its status is 77 if it has no reader.
scripts/recover_campaign sets them."""
import gzip
import hashlib
import json
import os
import random
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import built
import commands
import tfrecords

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "writers" / "array_record"))
import make_samples as array_records  # noqa: E402
import riegeli  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
FORMATS = {path.parent.name.replace("_", "-") for path in ROOT.glob("core/formats/*/writer.h")}  # that can be written
MUTATIONS = int(os.environ.get("RECORDFS_MUTATIONS", "60"))
SEED = int(os.environ.get("RECORDFS_MUTATION_SEED", "36"))
REFERENCE = os.environ.get("RECORDFS_REFERENCE")
NO_REFERENCE = 77
KILLED_ONE_IN = 10
MOST_BYTES = 64 << 20  # of the records of a file


def mutated(data, rng):
    """Returns a copy of a file's bytes with one kind of damage."""
    data = bytearray(data)
    at = rng.randrange(len(data)) if data else 0
    size = rng.choice([1, 1, 7, 100, 5000])
    kind = rng.randrange(6)
    if kind == 0 and data:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[at:at + size] = rng.randbytes(min(size, len(data) - at))
    elif kind == 2:
        del data[at:at + size]
    elif kind == 3:
        data[at:at] = rng.randbytes(size)
    elif kind == 4:
        data[at:at + size] = bytes(min(size, len(data) - at))
    else:
        del data[at:]
    return bytes(data)


class Recover(commands.Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.out.mkdir()

    def samples(self):
        """Returns the samples of the formats that can be written, in a fixed order."""
        rows = self.about_samples("verify")
        paths = [Path(path) for path in commands.containers() if rows.get(Path(path), {}).get("format") in FORMATS]
        self.assertGreater(len(paths), 30)
        return paths

    def records(self, path):
        """Returns what `cat --skip-damage` writes of a file, each record with its length."""
        return self.recordfs("cat", "--skip-damage", "--delimited", path).out

    def verified(self, path):
        lines = self.recordfs("verify", "--json", path).out.splitlines()
        return json.loads(lines[0])

    def check(self, source, target):
        """Recovers a file, and checks the output and the status. Returns false if its codec is not one that is written."""
        before = source.read_bytes()
        done = self.recordfs("recover", source, "-o", target)
        if done.status == commands.PARTLY_DONE and re.search("unknown (compression|transformer)", done.err):
            self.assertFalse(target.exists())
            return False
        expected = self.verified(source)
        if "unsupported" in {row["class"] for row in expected["damage"]}:
            self.assertEqual((done.status, target.exists()), (commands.PARTLY_DONE, False), (source, done.err))
            return False
        classes = {row["class"] for row in expected["damage"]} - {"stale", "unchecked"}
        self.assertEqual(done.status, commands.DAMAGE if classes else commands.GOOD, (source, done.err))
        self.assertEqual(bool(classes), done.err != "", (source, done.err))
        self.assertEqual(source.read_bytes(), before)
        verified = self.verified(target)
        self.assertTrue(commands.is_sound(verified), (source, verified))
        self.assertNotIn("stale", {row["class"] for row in verified["damage"]})
        if verified["size"] > 0:
            is_array_record = source.name.endswith(".array_record")  # also if it has lost what shows that
            self.assertEqual(verified["format"], "array-record" if is_array_record else expected["format"], source)
        self.assertEqual(self.records(target), self.records(source), source)
        return True

    def check_with_reference(self, target):
        """Reads an output with another reader. Returns whether there is one."""
        verified = self.verified(target)
        done = subprocess.run([REFERENCE, verified.get("format", ""), target], capture_output=True, text=True, check=False)
        if done.returncode == NO_REFERENCE or verified["size"] == 0:
            return False
        digest = hashlib.sha256()
        records = built.delimited(self.records(target))
        for record in records:
            digest.update(struct.pack("<Q", len(record)) + record)
        self.assertEqual(done.stdout.split(), [str(len(records)), digest.hexdigest()], (target, done.stderr))
        return True

    def check_killed(self, source, target, seconds):
        """Kills the command. What has the name of the output is whole then, or there is none."""
        before = source.read_bytes()
        with subprocess.Popen([commands.program("recordfs"), *commands.encoded(["recover", source, "-o", target])],
                              stderr=subprocess.DEVNULL, env=self.environment()) as running:
            time.sleep(seconds)
            running.kill()
        self.assertEqual(source.read_bytes(), before)
        if target.exists():
            self.assertTrue(commands.is_sound(self.verified(target)))
            target.unlink()

    def test_output_of_every_sample_has_its_records_and_verifies(self):
        for path in self.samples():
            with self.subTest(path=path):
                if self.check(path, self.out / path.name):
                    os.unlink(self.out / path.name)

    def test_mutations_are_recovered_as_cat_reads_them(self):
        rng = random.Random(SEED)
        samples = [path for path in self.samples() if path.stat().st_size < 300000]
        recovered = compared = 0
        for number in range(MUTATIONS):
            sample = rng.choice(samples)
            source = self.folder / f"{number}{sample.name}"
            source.write_bytes(mutated(sample.read_bytes(), rng))
            with self.subTest(number=number, sample=sample.name):
                verified = self.verified(source)
                if verified.get("format") not in FORMATS or verified["status"] == "unreadable" or verified["size"] == 0:
                    continue
                if verified["bytes"] > MOST_BYTES:
                    continue
                target = self.out / source.name
                if number % KILLED_ONE_IN == 0:
                    self.check_killed(source, target, rng.random() / 20)
                is_recovered = self.check(source, target)
                recovered += is_recovered
                compared += bool(is_recovered and REFERENCE and self.check_with_reference(target))
            for path in (source, self.out / source.name):
                path.unlink(missing_ok=True)
        print(f"{recovered} of {MUTATIONS} mutations recovered; {compared} compared with another reader")
        self.assertGreater(recovered, MUTATIONS // 2)

    def test_intact_file_is_copied_as_it_is(self):
        for name in ("tfrecord/runs.tfrecord", "leveldb_log/leveldb-plyvel-a/MANIFEST-000002", "wandb/long-records.wandb",
                     "leveldb_log/rocksdb-direct/recycle-leftover-11-000017.log", "wandb/before-first-block.wandb",
                     "recordio/v2-header-kv.grail-rio", "recordio/legacy-mixed.grail-rio", "proio/c08-mixed-compression.proio",
                     "proio/h02-meta-only-mid-end.proio", "proio/h14-slack.proio", "bloscpack/v3-maxapp.blp", "bloscpack/v3-empty.blp",
                     "bloscpack/v3-np-f8-2d.blp", "bloscpack/v3-meta-tight.blp", "bloscpack/v3-append-fill-last.blp"):
            self.good("recover", commands.sample(name), "-o", self.out / "x", "--force")
            self.assertEqual((self.out / "x").read_bytes(), commands.sample(name).read_bytes())

    def test_rest_of_a_damaged_file_is_a_file_of_the_same_format(self):
        records = [bytes([number]) * number * 100 for number in range(200)]
        data = bytearray(tfrecords.tfrecord(records))
        at = data.index(records[77]) + 5
        data[at] ^= 1
        source = self.folder / "damaged.tfrecord"
        source.write_bytes(data)
        report = self.folder / "lost"
        done = self.recordfs("recover", source, "-o", self.out / "x.tfrecord", "--report", report)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.err, r"\Arecordfs: [^\n]*; 1 record lost\nrecordfs: [^\n]*: 199 records written; 1 lost\n\Z")
        self.assertEqual((self.out / "x.tfrecord").read_bytes(), tfrecords.tfrecord(records[:77] + records[78:]))
        lost = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([(row["file"], row["class"], row["records_lost"]) for row in lost],
                         [(commands.stored(str(source)), "damage", 1)])
        self.assertLess(lost[0]["begin"], at)

    def test_array_record_without_its_footer_stays_an_array_record(self):
        whole = commands.sample("array_record/group-10-zstd.array_record")
        for name in ("cut.array_record", "cut.arrayrecord"):
            source = self.folder / name
            source.write_bytes(whole.read_bytes()[:-130000])
            self.assertEqual(self.verified(source)["format"], "riegeli")
            done = self.recordfs("recover", source, "-o", self.out / name)
            self.assertIn(done.status, (commands.GOOD, commands.DAMAGE), done.err)
            self.assertEqual(self.verified(self.out / name)["format"], "array-record")
            self.assertEqual(self.records(self.out / name), self.records(source))

    def test_group_size_that_no_writer_chooses_is_not_believed(self):
        made = array_records.grouped(array_records.text_records(20), 5)
        begin, size, _ = made.index[0]
        source = self.folder / "x.array_record"
        source.write_bytes(made.finish(made.footer(index=[(begin, size, 1 << 40), *made.index[1:]])))
        self.recordfs("recover", source, "-o", self.out / "x")
        self.assertEqual(self.records(self.out / "x"), self.records(source))
        self.assertEqual(self.verified(self.out / "x")["chunks"], 9)  # 4 of them have records

    def test_metadata_that_cannot_be_decoded_are_lost(self):
        writer = riegeli.Writer()
        writer.add(b"m", 0, 9, b"\0no metadata")
        writer.add(*riegeli.simple([b"one", b"two"]))
        source = self.folder / "x.riegeli"
        source.write_bytes(writer.out)
        done = self.recordfs("recover", source, "-o", self.out / "x")
        self.assertEqual(done.status, commands.DAMAGE, done.err)
        self.assertEqual(built.delimited(self.records(self.out / "x")), [b"one", b"two"])

    def test_metadata_of_proio_stay_in_effect_without_the_events_of_their_bucket(self):
        def bucket(events, payload, compression, metadata=b""):
            header = bytes([8, events, 16, len(payload), 24, compression]) + metadata
            return b"\xe1\xc1" + bytes(14) + struct.pack("<I", len(header)) + header + payload
        metadata = b"\x3a\x08\x0a\x03run\x12\x01" + b"7"
        source = self.folder / "x.proio"
        source.write_bytes(bucket(2, b"no gzip", 1, metadata) + bucket(1, bytes(4), 0))
        self.assertEqual(self.recordfs("recover", source, "-o", self.out / "x").status, commands.DAMAGE)
        self.assertEqual(json.loads(self.good("cat", "--json", self.out / "x"))["decoded"]["metadata"], {"run": "7"})
        self.assertEqual((self.out / "x").read_bytes(), b"\xe1\xc1" + bytes(14) + struct.pack("<I", len(metadata)) + metadata
                         + bucket(1, bytes(4), 0))

    def test_metadata_of_proio_that_exceed_the_limit_together_are_not_collected(self):
        def sparse(path, buckets, payload):
            value = 30 << 20
            entry = b"\x0a\x01k\x12" + tfrecords.varint(value)
            with path.open("wb") as file:
                for entries in buckets:
                    fields = bytes([8, 1, 16, len(payload), 24, 1])
                    item = b"\x3a" + tfrecords.varint(len(entry) + value) + entry
                    file.write(b"\xe1\xc1" + bytes(14) + struct.pack("<I", len(fields) + entries * (len(item) + value)) + fields)
                    for _ in range(entries):
                        file.write(item)
                        file.seek(value, os.SEEK_CUR)
                    file.write(payload)
        source = self.folder / "x.proio"
        sparse(source, [3], b"no gzip")
        self.assert_ends(commands.PARTLY_DONE, "the metadata of the bucket exceed the limit", "recover", source, "-o", self.out / "x")
        sparse(source, [1, 1, 1], b"no gzip")
        self.assertEqual(self.recordfs("recover", source, "-o", self.out / "x").status, commands.DAMAGE)
        self.assertEqual(self.verified(self.out / "x")["chunks"], 2)
        sparse(source, [3], gzip.compress(bytes(4)))
        self.good("recover", source, "-o", self.out / "y")
        self.assertEqual((self.out / "y").read_bytes(), source.read_bytes())

    def test_lost_chunk_of_bloscpack_has_no_offset(self):
        data = bytearray(commands.sample("bloscpack/v3-ck-sha256-off.blp").read_bytes())
        chunks, = struct.unpack_from("<q", data, 16)
        second, = struct.unpack_from("<q", data, 40)
        data[second + 20] ^= 1
        source = self.folder / "x.blp"
        source.write_bytes(data)
        self.assertEqual(self.recordfs("recover", source, "-o", self.out / "x").status, commands.DAMAGE)
        made = (self.out / "x").read_bytes()
        self.assertEqual(struct.unpack_from("<qq", made, 16), (chunks - 1, struct.unpack_from("<q", data, 24)[0] + 1))
        offsets = [*struct.unpack_from(f"<{chunks - 1}q", made, 32)]
        self.assertEqual({made[at:at + 2] for at in offsets}, {b"\2\1"})
        self.assertEqual(made[32 + 8 * (chunks - 1):offsets[0]], b"\xff" * (offsets[0] - 32 - 8 * (chunks - 1)))

    def test_room_for_offsets_of_a_damaged_bloscpack_file_is_limited(self):
        data = commands.sample("bloscpack/v3-ck-sha256-off.blp").read_bytes()
        chunks, = struct.unpack_from("<q", data, 16)
        offsets = struct.unpack_from(f"<{chunks}q", data, 32)
        gap = 1 << 30
        source = self.folder / "x.blp"
        with source.open("wb") as file:
            file.write(data[:32] + struct.pack(f"<{chunks}q", *(offset + gap for offset in offsets)))
            file.seek(offsets[0] + gap)
            file.write(data[offsets[0]:])
        done = self.recordfs("recover", source, "-o", self.out / "x")
        self.assertIn(done.status, (commands.GOOD, commands.DAMAGE), done.err)
        self.assertLess((self.out / "x").stat().st_size, 64 << 20)
        self.assertEqual(self.records(self.out / "x"), self.records(commands.sample("bloscpack/v3-ck-sha256-off.blp")))

    def test_earlier_versions_of_bloscpack_become_the_one_that_is_read(self):
        for name in ("v0-rc1", "v1-2", "v2-4"):
            self.good("recover", commands.sample(f"bloscpack/{name}.blp"), "-o", self.out / name)
            self.assertEqual((self.out / name).read_bytes()[:5], b"blpk\3")

    def test_items_of_variable_length_keep_their_order_and_version(self):
        sample = commands.sample("bloscpack/vl-version4.blp")
        self.good("recover", sample, "-o", self.out / "same")
        self.assertEqual((self.out / "same").read_bytes(), sample.read_bytes())
        data = bytearray(commands.sample("bloscpack/vl-out-of-order.blp").read_bytes())
        items, metadata = struct.unpack_from("<qi", data, 16)
        offsets = struct.unpack_from(f"<{items}q", data, 32 + metadata)
        self.assertNotEqual(list(offsets), sorted(offsets))
        data[offsets[1] + 8] ^= 0x55  # the sizes of the second item
        source = self.folder / "x.blp"
        source.write_bytes(data)
        self.assertEqual(self.recordfs("recover", source, "-o", self.out / "x").status, commands.DAMAGE)
        made = (self.out / "x").read_bytes()
        self.assertEqual(self.records(self.out / "x"), self.records(source))
        self.assertEqual((made[4:8], struct.unpack_from("<q", made, 16)), (bytes(data[4:8]), (items - 1,)))
        found = struct.unpack_from(f"<{items - 1}q", made, 32 + metadata)
        self.assertEqual(list(found), sorted(found))

    def test_control_fragments_of_a_log_do_not_cross_frames_and_are_never_dropped(self):
        def log(controls):
            payload = struct.pack("<IH", 1, 8) * 10
            fragment, data = tfrecords.log_fragment(10, payload), tfrecords.log_fragment(1, b"record")
            frames = 32768 // len(fragment)
            head = b"".join(fragment + bytes(-len(fragment) * frames % 32768 if i % frames == frames - 1 else 0)
                            for i in range(controls))
            return head + data
        source = self.folder / "x.log"
        source.write_bytes(log(700))
        self.good("recover", source, "-o", self.out / "x")
        self.assertEqual((self.out / "x").read_bytes(), source.read_bytes())
        source.write_bytes(log(1100))
        self.assert_ends(commands.PARTLY_DONE, "fragments that are no records", "recover", source, "-o", self.out / "y")

    def test_format_that_cannot_be_written_is_named(self):
        self.assert_ends(commands.PARTLY_DONE, "recover does not write avro files yet", "recover",
                         next(commands.corpus().glob("avro/*.avro")), "-o", self.out / "x")
        self.assertEqual(os.listdir(self.out), [])

    def test_file_with_an_unknown_codec_is_refused(self):
        for name, reason in (("leveldb_log/rocksdb-direct/zstd-unknown-compression.log", "unknown compression"),
                             ("recordio/v2-unknown-transformer.grail-rio", "unknown transformer")):
            self.assert_ends(commands.PARTLY_DONE, reason, "recover", commands.sample(name), "-o", self.out / "x")
        done = self.recordfs("recover", commands.sample("recordio/v2-unknown-transformer.grail-rio"), "-o", self.out / "x")
        self.assertNotIn("--max-chunk", done.err)

    def test_codec_that_damage_made_unknown_is_left_out_on_request(self):
        damaged = bytearray(commands.sample("proio/small/lz4.proio").read_bytes())
        damaged[26] ^= 0x40  # the codec, which no checksum covers
        source = self.folder / "x.proio"
        source.write_bytes(damaged)
        done = self.recordfs("recover", source, "-o", self.out / "x.proio")
        self.assertEqual((done.status, os.listdir(self.out)), (commands.PARTLY_DONE, []))
        self.assertIn(f"{source}: byte 0: unknown compression 66", done.err)
        report = self.folder / "report"
        words = ["--skip-unsupported", "--report", report, source, "-o", self.out / "x.proio"]
        self.assertEqual(self.recordfs("recover", *words).status, commands.DAMAGE)
        self.assertEqual(self.records(self.out / "x.proio"), self.records(source))
        self.assertEqual(json.loads(report.read_text(encoding="utf-8").splitlines()[0])["class"], "unsupported")
        self.assertTrue(commands.is_sound(self.verified(self.out / "x.proio")))

    def test_records_that_exceed_the_limits_are_not_lost(self):
        source = commands.sample("riegeli/metadata_full_transposed.riegeli")
        done = self.recordfs("recover", "--max-chunk", "1000", source, "-o", self.out / "x")
        self.assertEqual((done.status, os.listdir(self.out)), (commands.PARTLY_DONE, []))
        self.assertIn("which may not be lost, so nothing is written (try: --max-chunk, --skip-unsupported)", done.err)

    def test_number_of_lost_records_is_exact_beyond_the_longest_list(self):
        pair = tfrecords.tfrecord([b"good"]) + tfrecords.tfrecord([b"bad"])[:-1] + b"x"
        source = self.folder / "many"
        source.write_bytes(pair * 70000)
        report = self.folder / "report"
        done = self.recordfs("recover", source, "-o", self.out / "x", "--report", report)
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.err, r": 70000 records written; 70000 lost\n\Z")
        rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(sum(row["records_lost"] for row in rows), 70000)


if __name__ == "__main__":
    commands.main()
