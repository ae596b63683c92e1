#!/usr/bin/env python3
"""The installed magic file and MIME types identify the formats for file(1) and desktops."""
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support

# {sample: (description that file prints, subtype of application/x-...)}
KNOWN = {
    "riegeli/simple_zstd9.riegeli": ("Riegeli/records, simple chunks of zstd", "riegeli"),
    "riegeli/transposed_regular.riegeli": ("Riegeli/records, transposed chunks of Brotli", "riegeli"),
    "riegeli/metadata_extension.riegeli": ("Riegeli/records, with metadata", "riegeli"),
    "recordio/v2-text-100.grail-rio": ("GRAIL recordio", "grail-recordio"),
    "recordio/v2-zstd-1.grail-rio": ("GRAIL recordio, of zstd", "grail-recordio"),
    "recordio/v2-flate-9.grail-rio": ("GRAIL recordio, of flate", "grail-recordio"),
    "recordio/legacy-packed-zstd.grail-rpk": ("GRAIL recordio, legacy, packed", "grail-recordio"),
    "recordio/legacy-unpacked-one.grail-rio": ("GRAIL recordio, legacy", "grail-recordio"),
    "proio/g03-lz4.proio": ("proio stream", "proio"),
    "avro/empty-blocks.avro": ("Avro file", "avro"),
    "bloscpack/v0-rc1.blp": ("Bloscpack, version 0", "bloscpack"),
    "bloscpack/v1-2.blp": ("Bloscpack, version 1", "bloscpack"),
    "bloscpack/v3-np-f8-2d.blp": ("Bloscpack, version 3, with metadata", "bloscpack"),
    "bloscpack/vl-meta.blp": ("Bloscpack, items of variable length", "bloscpack"),
    "tfrecord/events.out.tfevents.1700000000.host": ("TFRecord file, of TensorBoard events", "tfrecord"),
    "tfrecord/examples.tfrecord": ("TFRecord file, of examples", "tfrecord"),
    "wandb/run-g9dvvkua.wandb": ("Weights & Biases run file, version 0", "wandb"),
    "wandb/swanlab-1.swanlab": ("SwanLab run file, version 1", "wandb"),
    "leveldb_log/leveldb-plyvel-a/MANIFEST-000002": ("LevelDB or RocksDB MANIFEST", "leveldb-log"),
    "leveldb_log/rocksdb-manifest/MANIFEST-000005": ("LevelDB or RocksDB MANIFEST", "leveldb-log"),
    "leveldb_log/rocksdb-cf-txn/000018.log": ("LevelDB or RocksDB log", "leveldb-log"),
    "leveldb_log/rocksdb-direct/zstd-block-aligned.log": ("RocksDB log, of zstd", "leveldb-log"),
    "leveldb_table/leveldb-snappy.ldb": ("LevelDB table", "leveldb-table"),
    "rocksdb_blob/rocksdb7-zstd.blob": ("RocksDB blob file, of zstd", "rocksdb-blob"),
    "array_record/sound.array_record": ("ArrayRecord, of Riegeli/records", "array-record"),
}
# LevelDB logs have no magic that the MIME database can express, TFRecord has none, and tables and ArrayRecord files have it
# at the end.
NOT_IN_DATABASE = {"leveldb_log/rocksdb-cf-txn/000018.log", "leveldb_log/rocksdb-direct/zstd-block-aligned.log",
                   "leveldb_table/leveldb-snappy.ldb", "array_record/sound.array_record",
                   "tfrecord/examples.tfrecord"}


@support.needs("file")
class File(unittest.TestCase):
    def describe(self, *words):
        done = support.run("file", "--brief", *words)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.rstrip("\n")

    def test_magic_file_compiles(self):
        with tempfile.TemporaryDirectory() as folder:
            done = support.run("file", "-C", "-m", support.installed("types/magic"), cwd=folder)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_each_format_is_identified(self):
        for name, (text, kind) in KNOWN.items():
            with self.subTest(name):
                magic = support.installed("types/magic")
                self.assertEqual(self.describe("-m", magic, support.sample(name)), text)
                self.assertEqual(self.describe("--mime-type", "-m", magic, support.sample(name)), f"application/x-{kind}")

    def test_other_files_are_not_identified_as_a_format(self):
        for path in sorted(support.sample("leveldb_log/negative").iterdir()):
            with self.subTest(path.name):
                self.assertNotIn("application/x-", self.describe("--mime-type", "-m", support.installed("types/magic"), path))


class MimeDatabase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = Path(folder.name)
        packages = self.data / "mime" / "packages"
        packages.mkdir(parents=True)
        shutil.copy(support.installed("types/recordfs.xml"), packages)

    @support.needs("xmllint")
    def test_mime_package_is_well_formed(self):
        done = support.run("xmllint", "--noout", support.installed("types/recordfs.xml"))
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    @support.needs("update-mime-database")
    def test_database_contains_every_type(self):
        done = support.run("update-mime-database", self.data / "mime")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("Error", done.stdout)
        types = (self.data / "mime" / "types").read_text(encoding="utf-8").split()
        self.assertEqual(set(types), {f"application/x-{kind}" for _, kind in KNOWN.values()})

    @support.needs("update-mime-database")
    @support.needs("gio")
    def test_desktops_identify_each_format_by_its_bytes(self):
        subprocess.run(["update-mime-database", self.data / "mime"], stderr=subprocess.DEVNULL, check=True)
        for name, (_, kind) in KNOWN.items():
            if name in NOT_IN_DATABASE:
                continue
            with self.subTest(name):
                shutil.copy(support.sample(name), self.data / "unnamed")
                done = support.run("env", f"XDG_DATA_HOME={self.data}", "gio", "info", "-a", "standard::content-type",
                                  self.data / "unnamed")
                self.assertIn(f"standard::content-type: application/x-{kind}\n", done.stdout)


if __name__ == "__main__":
    support.main()
