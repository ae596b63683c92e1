#!/usr/bin/env python3
"""-o follow: appended records appear, with the names and inode numbers that they keep."""
import contextlib
import errno
import json
import os
import subprocess
import threading

import mounting


class Writer:
    """Appends the content of a file to another file, piece by piece."""

    def __init__(self, path, whole, first):
        self.path, self.whole, self.written = path, whole, 0
        path.write_bytes(b"")
        self.append(first)

    def append(self, size):
        """Appends the next bytes. Returns whether more are left."""
        with self.path.open("ab", buffering=0) as file:
            file.write(self.whole[self.written:self.written + size])
        self.written = min(self.written + size, len(self.whole))
        return self.written < len(self.whole)

    def append_all(self):
        self.append(len(self.whole))


class Follow(mounting.Case):
    def setUp(self):
        super().setUp()
        self.log, self.records = mounting.make_container(self.folder, 2000, "leveldb")
        self.whole = self.log.read_bytes()
        self.source = self.folder / "growing.log"

    def start(self, first, *options, **how):
        """Mounts a log that has only its first bytes yet."""
        self.writer = Writer(self.source, self.whole, first)
        self.mounted = self.mount(self.source, options=["follow", *options], **how)
        return self.mounted

    def names(self):
        return sorted(os.listdir(self.mounted / "records"))

    def wait_for_all(self):
        return mounting.wait_for(lambda: len(self.names()) == len(self.records), "all records")

    def assert_no_damage(self):
        """No damage is found, and nothing is logged."""
        self.assertEqual(os.listdir(self.mounted / "damage"), [])
        self.assertEqual(self.mounted.log(), "")

    def test_appended_records_are_listed_and_readable(self):
        self.start(20000)
        before = self.names()
        self.assertGreater(len(before), 10)
        self.assertLess(len(before), len(self.records))
        self.writer.append_all()
        self.wait_for_all()
        self.assertEqual(self.names()[:len(before)], before)
        for name in self.names():
            self.assertEqual((self.mounted / "records" / name).read_bytes(), self.records[int(name)], name)
        self.assert_no_damage()

    def test_mount_over_the_folder_of_the_source_is_served(self):
        for _ in range(5):
            point = self.folder / "covered"
            point.mkdir(exist_ok=True)
            self.source = point / "growing.log"
            mounted = self.start(20000, "nonempty", point=point)
            self.assertGreater(len(self.names()), 10)
            self.assertEqual(mounted.unmount(), 0)

    def test_cached_missing_names_appear_once_appended(self):
        self.start(20000)
        last = f"{len(self.records) - 1:09}"
        names = [f"records/{last}", f"records/{int(last)}", f"thousands/{int(last) // 1000:06}/{last}"]
        for name in names:
            self.assertFalse(os.path.lexists(self.mounted / name), name)
        self.writer.append_all()
        for name in names:
            mounting.wait_for(lambda path=self.mounted / name: os.path.lexists(path), name)
            self.assertEqual((self.mounted / name).read_bytes(), self.records[-1])

    def test_tail_f_prints_appended_lines(self):
        self.start(20000)
        lines = b"".join(record + b"\n" for record in self.records)
        shown = self.folder / "shown"
        with shown.open("wb") as out, mounting.started("tail", "-c", "+1", "-f", self.mounted / "streams/lines", stdout=out):
            mounting.wait_for(lambda: shown.stat().st_size > 0, "the first lines")
            while self.writer.append(len(self.whole) // 4):
                size = shown.stat().st_size
                mounting.wait_for(lambda than=size: shown.stat().st_size > than, "more lines")
            mounting.wait_for(lambda: shown.stat().st_size >= len(lines), "all lines")
        self.assertEqual(shown.read_bytes(), lines)
        self.assert_no_damage()

    def test_open_file_gets_its_new_size_and_bytes(self):
        self.start(20000)
        with (self.mounted / "streams/concat").open("rb", buffering=0) as stream:
            before = stream.read()
            self.assertEqual(stream.read(), b"")
            self.writer.append_all()
            whole = b"".join(self.records)
            mounting.wait_for(lambda: os.fstat(stream.fileno()).st_size == len(whole), "the new size")
            rest = b""
            while piece := stream.read():
                rest += piece
            self.assertEqual(before + rest, whole)

    def test_texts_of_unchanged_size_are_updated(self):
        self.start(20000)
        info = self.mounted / "info.json"
        self.assertEqual(json.loads(info.read_text())["size"], 20000)
        size = info.stat().st_size
        self.writer.append(30000)
        mounting.wait_for(lambda: json.loads(info.read_text())["size"] == 50000, "another size")
        self.assertEqual(info.stat().st_size, size)
        rows = self.mounted / "index/chunks.tsv"
        summary = self.mounted / "index/summary.json"
        self.assertEqual(len(rows.read_text().splitlines()), 3)
        self.writer.append_all()
        self.wait_for_all()
        self.assertEqual(json.loads(summary.read_text())["records"], len(self.records))
        other = self.mount(self.log)
        self.assertEqual(rows.read_text(), (other / "index/chunks.tsv").read_text())

    def test_last_chunk_grows(self):
        self.start(20000)
        chunk = self.mounted / "chunks/0"
        before = [len(os.listdir(chunk / "records")), (chunk / "raw").stat().st_size, len((chunk / "data").read_bytes())]
        self.assertEqual(json.loads((chunk / "info.json").read_text())["records"], before[0])
        self.assertEqual(len((chunk / "records.jsonl").read_text().splitlines()), before[0])
        self.writer.append_all()
        self.wait_for_all()
        other = self.mount(self.log) / "chunks/0"
        self.assertEqual(sorted(os.listdir(chunk / "records")), sorted(os.listdir(other / "records")))
        for name in ("raw", "data", "info.json", "records.jsonl"):
            self.assertEqual((chunk / name).read_bytes(), (other / name).read_bytes(), name)
        self.assertGreater(len(os.listdir(chunk / "records")), before[0])

    def test_empty_file_is_followed(self):
        self.source = self.folder / "000007.log"
        self.start(0)
        self.assertEqual(self.names(), [])
        self.writer.append(3)
        self.writer.append_all()
        self.wait_for_all()
        self.assert_no_damage()

    def test_replaced_file_is_still_followed(self):
        self.start(20000)
        before = len(self.names())
        old = self.folder / "growing.log.1"
        self.source.rename(old)
        self.source.write_bytes(self.whole[:1000])
        self.mounted.wait_for_log(f"{self.source}: moved, removed or replaced; the file that was opened is still followed")
        self.writer.path = old
        self.writer.append_all()
        self.wait_for_all()
        self.assertGreater(len(self.records), before)
        self.assertEqual(self.mounted.log().count("replaced"), 1)

    def test_truncated_file_is_no_longer_followed(self):
        self.start(50000)
        self.names()
        os.truncate(self.source, 100)
        self.mounted.wait_for_log(f"{self.source}: no longer followed: .*shorter")
        self.assert_fails_with(errno.EIO, (self.mounted / "records/40").read_bytes)
        self.assertIsNone(self.mounted.daemon.poll())

    def test_format_that_rewrites_its_header_is_not_followed(self):
        path = self.copy("bloscpack/v3-append-trailing-garbage.blp")
        mounted = self.mount(path, options=["follow"])
        records = os.listdir(mounted / "records")
        with path.open("ab") as file:
            file.write(b"more")
        mounted.wait_for_log(f"{path}: no longer followed: .*format")
        self.assertEqual(os.listdir(mounted / "records"), records)

    def test_concurrent_readers_of_a_followed_file_read_correct_data(self):
        self.start(20000)
        wrong, over = [], threading.Event()

        def read():
            while not over.is_set():
                for name in self.names()[::50]:
                    with contextlib.suppress(FileNotFoundError):
                        if (self.mounted / "records" / name).read_bytes() != self.records[int(name)]:
                            wrong.append(name)
                found = subprocess.run(["grep", "-rc", "nothing at all", self.mounted / "records"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, check=False)
                wrong.extend(found.stderr.splitlines())

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        before = len(self.names())
        while self.writer.append(40000):
            mounting.wait_for(lambda than=before: len(self.names()) > than, "more records")
            before = len(self.names())
        self.wait_for_all()
        over.set()
        for reader in readers:
            reader.join()
        self.assertEqual(wrong, [])
        self.assert_no_damage()
        self.assertEqual(self.mounted.unmount(), 0)

    @mounting.only_root
    def test_ordinary_user_can_follow(self):
        self.writer = Writer(self.source, self.whole, 20000)
        os.chown(self.source, mounting.NOBODY, mounting.NOBODY)
        self.mounted = self.mount(self.source, options=["follow"], user=mounting.NOBODY)
        count = lambda: len(mounting.run("ls", self.mounted / "records", user=mounting.NOBODY).stdout.splitlines())
        self.assertLess(count(), len(self.records))
        self.writer.append_all()
        mounting.wait_for(lambda: count() == len(self.records), "all records")

    def test_background_mount_follows(self):
        writer = Writer(self.source, self.whole, 20000)
        point = self.new_point()
        done = self.recordfs("growing.log", point, "-o", "follow", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        os.listdir(point / "records")
        writer.append_all()
        mounting.wait_for(lambda: len(os.listdir(point / "records")) == len(self.records), "all records")


if __name__ == "__main__":
    mounting.main()
