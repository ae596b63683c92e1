#!/usr/bin/env python3
"""-o join,follow: files that are added to a mounted data set become shards at its end, and nothing else changes."""
import errno
import json
import os
import subprocess
import threading

import mounting
from tfrecords import tfrecord


def names_of(records):
    return [f"{ordinal:09}" for ordinal in range(records)]


class JoinFollow(mounting.Case):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()
        self.records = []

    def write(self, name, number=3):
        """Writes a shard whose records are expected after those of the others."""
        records = [f"record {index} of {name}".encode() for index in range(number)]
        (self.data / name).write_bytes(tfrecord(records))
        self.records += records

    def start(self, *sources, options=(), **more):
        self.mounted = self.mount(*map(mounting.stored, sources or [self.data]), options=["join", "follow", *options], **more)
        return self.mounted

    def shown(self):
        return len(os.listdir(self.mounted / "records"))

    def wait_for_all(self):
        mounting.wait_for(lambda: self.shown() == len(self.records), "all records")

    def assert_all_are_shown(self):
        point = self.mounted
        names = sorted(os.listdir(point / "records"))
        self.assertEqual(names, names_of(len(self.records)))
        self.assertEqual([(point / "records" / name).read_bytes() for name in names], self.records)
        self.assertEqual((point / "streams/concat").read_bytes(), b"".join(self.records))
        self.assertEqual((point / "streams/lines").read_bytes(), b"".join(record + b"\n" for record in self.records))
        self.assertEqual(json.loads((point / "info.json").read_text())["records"], len(self.records))
        self.assertEqual(json.loads((point / "index/summary.json").read_text())["records"], len(self.records))

    def test_new_shards_are_shown_in_all_views(self):
        self.write("part-1", 2)
        self.write("part-3", 5)
        self.start()
        self.assert_all_are_shown()
        self.write("part-9", 4)
        self.write("part-10", 1)
        self.wait_for_all()
        self.assert_all_are_shown()
        shards = ["part-1", "part-3", "part-9", "part-10"]
        self.assertEqual(os.listdir(self.mounted / "shards"), shards)
        self.assertEqual(os.readlink(self.mounted / "shards/3"), "../.shards/part-10")
        self.assertEqual((self.mounted / "shards/part-10/records/0").read_bytes(), self.records[-1])
        rows = (self.mounted / "index/shards.tsv").read_text().splitlines()
        self.assertEqual([row.split("\t")[1] for row in rows[1:]], shards)
        self.assertEqual(len((self.mounted / "index/damage.tsv").read_text().splitlines()), 1)
        self.assertEqual(self.mounted.log(), "")
        self.assertEqual(self.mounted.unmount(), 0)

    def test_names_that_were_missing_appear(self):
        self.write("part-1", 2)
        self.start()
        names = ["records/000000004", "records/4", "thousands/000000/000000004", "shards/part-2", ".shards/part-2", "shards/1"]
        for name in names:
            self.assertFalse(os.path.lexists(self.mounted / name), name)
        self.write("part-2")
        for name in names:
            mounting.wait_for(lambda path=self.mounted / name: os.path.lexists(path), name)
        self.assertEqual((self.mounted / "records/4").read_bytes(), self.records[4])

    def test_ordinals_inode_numbers_and_times_of_records_stay(self):
        self.write("part-2", 40)
        self.write("part-4", 40)
        self.start()

        def known():
            paths = [f"records/{ordinal}" for ordinal in range(0, 80, 9)]
            paths += ["shards/part-2/records/7", "shards/part-4/info.json", "shards/part-4/", "thousands/000000/000000079"]
            found = {path: (self.mounted / path).stat() for path in paths}
            return {path: (stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}
        before = known()
        own = {name: (self.mounted / name).stat() for name in ("records", "shards", "streams/concat", "info.json")}
        for name in ("part-1", "part-3", "part-5"):
            self.write(name)
        self.wait_for_all()
        self.assertEqual(known(), before)
        for name, stat in own.items():
            self.assertEqual((self.mounted / name).stat().st_ino, stat.st_ino, name)
            self.assertGreater((self.mounted / name).stat().st_mtime_ns, stat.st_mtime_ns, name)
        self.assert_all_are_shown()
        log = self.mounted.log()
        for name in ("part-1", "part-3"):
            self.assertIn(f"{self.data / name}: a new shard, at the end of the data set (a new mount has it before others)",
                          log)
        self.assertNotIn("part-5", log)

    def test_numbers_are_those_of_a_mount_that_does_not_follow(self):
        self.write("part-1")
        self.start()
        self.write("part-2")
        self.wait_for_all()
        other = self.mount(self.data, options=["join"])
        self.assertEqual((self.mounted / "records/5").stat().st_ino, (other / "records/5").stat().st_ino)

    def test_unfinished_file_appears_once_it_is_complete(self):
        self.write("part-1")
        self.start()
        pieces = []
        with (self.data / "part-2").open("ab", buffering=0) as file:
            def write_on_until(is_reached):
                """Writes half a record at a time."""
                whole = tfrecord([f"piece {len(pieces) // 2}".encode()])
                file.write(whole[:7] if len(pieces) % 2 == 0 else whole[7:])
                pieces.append(whole)
                return is_reached()
            for number in range(3):
                self.write(f"other-{number}")
                mounting.wait_for(lambda: write_on_until(lambda: self.shown() == len(self.records)), "the other file")
                self.assertNotIn("part-2", os.listdir(self.mounted / "shards"))
            if len(pieces) % 2 == 1:
                file.write(pieces[-1][7:])
        self.records += [f"piece {number}".encode() for number in range((len(pieces) + 1) // 2)]
        self.wait_for_all()
        self.assertEqual(os.listdir(self.mounted / "shards")[-1], "part-2")
        self.assert_all_are_shown()

    def test_file_that_is_renamed_into_the_directory_appears(self):
        self.write("part-1")
        self.start()
        (self.data / ".part-2").write_bytes(tfrecord([b"renamed"]))
        (self.data / ".part-2").rename(self.data / "part-2")
        self.records.append(b"renamed")
        self.wait_for_all()
        self.assert_all_are_shown()

    def test_files_that_are_no_containers_are_ignored(self):
        self.write("part-1")
        self.start()
        (self.data / "README").write_text("no container\n" * 100)
        (self.data / "empty").write_bytes(b"")
        (self.data / "folder").mkdir()
        os.mkfifo(self.data / "fifo")
        self.write("part-2")
        self.wait_for_all()
        self.assertEqual(os.listdir(self.mounted / "shards"), ["part-1", "part-2"])
        (self.data / "empty").write_bytes(tfrecord([b"no longer empty"]))
        self.records.append(b"no longer empty")
        self.wait_for_all()
        self.assert_all_are_shown()

    def test_new_files_of_patterns_are_found(self):
        for folder in ("run-1", "run-2"):
            (self.data / folder).mkdir()
        self.write("run-1/part-1.tfrecord")
        self.start(self.data / "run-*" / "*.tfrecord")
        self.write("run-2/part-1.tfrecord")
        self.wait_for_all()
        (self.data / "run-3").mkdir()
        self.write("run-3/part-1.tfrecord")
        (self.data / "run-3/part-2.tmp").write_bytes(tfrecord([b"another name"]))
        self.wait_for_all()
        self.assertEqual(os.listdir(self.mounted / "shards"), ["part-1.tfrecord", "part-1.tfrecord~2", "part-1.tfrecord~3"])
        self.assert_all_are_shown()

    def test_missing_shard_that_appears_is_at_the_end(self):
        self.write("part-00000-of-00003")
        self.write("part-00002-of-00003")
        self.start(self.data / "part@3")
        self.assertEqual(self.shown(), 6)
        self.write("part-00001-of-00003")
        self.wait_for_all()
        self.assertEqual((self.mounted / "records/6").read_bytes(), b"record 0 of part-00001-of-00003")
        self.assertEqual(os.listdir(self.mounted / "shards")[3:], ["part-00001-of-00003~2"])
        self.assert_fails_with(errno.EIO, os.listdir, self.mounted / "shards/part-00001-of-00003")
        self.mounted.wait_for_log("part-00001-of-00003: a new shard, at the end")

    def test_growth_of_a_shard_that_is_shown_does_not_shift_ordinals(self):
        self.write("part-1")
        self.start()
        self.write("part-2")
        self.wait_for_all()
        with (self.data / "part-2").open("ab") as file:
            file.write(tfrecord([b"more"]))
        self.write("part-3")
        self.wait_for_all()
        self.assertEqual((self.mounted / "records/6").read_bytes(), b"record 0 of part-3")

    def test_tail_prints_the_records_of_new_shards(self):
        self.write("part-1")
        self.start()
        shown = self.folder / "shown"
        lines = lambda: b"".join(record + b"\n" for record in self.records)
        with shown.open("wb") as out, mounting.started("tail", "-c", "+1", "-f", self.mounted / "streams/lines", stdout=out):
            for name in ("part-2", "part-3"):
                mounting.wait_for(lambda: shown.read_bytes() == lines(), "all lines")
                self.write(name)
            mounting.wait_for(lambda: shown.read_bytes() == lines(), "all lines")

    def test_many_new_shards_need_few_descriptors(self):
        self.write("part-0")
        self.start()
        self.assert_all_are_shown()
        for shard in range(1, 300):
            self.write(f"part-{shard}", 1 + shard % 3)
        self.wait_for_all()
        self.assertLessEqual(len(os.listdir(f"/proc/{self.mounted.daemon.pid}/fd")), 64)
        # The kernel may know an earlier size for a second.
        mounting.wait_for(lambda: (self.mounted / "streams/concat").stat().st_size == sum(map(len, self.records)), "size")
        self.assertEqual(self.mounted.unmount(), 0)

    def test_readers_get_right_records_while_shards_appear(self):
        self.write("part-00")
        self.start()
        wrong, over = [], threading.Event()

        def read():
            while not over.is_set():
                expected = list(self.records)
                names = sorted(os.listdir(self.mounted / "records"))
                if names != names_of(len(names)):
                    wrong.append(names)
                for ordinal in range(min(len(names), len(expected))):
                    if (self.mounted / "records" / str(ordinal)).read_bytes() != expected[ordinal]:
                        wrong.append(ordinal)
                found = subprocess.run(["grep", "-rc", "nothing at all", self.mounted / "records"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, check=False)
                wrong.extend(found.stderr.splitlines())
        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for shard in range(1, 4):
            self.write(f"part-{shard:02}", 50)
            self.wait_for_all()
        over.set()
        for reader in readers:
            reader.join()
        self.assertEqual(wrong, [])
        self.assert_all_are_shown()

    def test_relative_names_are_followed_in_the_background(self):
        self.write("part-1")
        done = self.recordfs("mount", "-o", "join,follow", "part-*", "mnt", cwd=self.data)
        self.assertEqual(done.returncode, 0, done.stderr)
        point = self.data / "mnt"
        self.write("part-2")
        mounting.wait_for(lambda: len(os.listdir(point / "records")) == len(self.records), "all records")
        self.assertEqual(mounting.run("fusermount3", "-u", point).returncode, 0)

    def test_mount_point_among_the_shards_is_refused(self):
        self.write("part-1")
        done = self.recordfs("mount", "-o", "join,follow", self.data / "*", self.data / "mnt")
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot mount: new shards are looked for there", done.stderr)
        self.assertEqual(os.listdir(self.data), ["part-1"])

    def test_mount_without_follow_does_not_change(self):
        self.write("part-1")
        fixed = self.mount(self.data, options=["join"])
        self.start()
        self.write("part-2")
        self.wait_for_all()
        self.assertEqual(len(os.listdir(fixed / "records")), 3)
        self.assertFalse((fixed / "records/3").exists())

    @mounting.only_root
    @mounting.unittest.skipIf(mounting.STORAGE, "the storage tells no permissions")
    def test_permissions_are_those_that_all_shards_have(self):
        self.write("part-1")
        os.chmod(self.data / "part-1", 0o644)
        self.start(options=["allow_other"])
        self.assertEqual((self.mounted / "streams/concat").stat().st_mode & 0o777, 0o444)
        self.write(".part-2")
        os.chmod(self.data / ".part-2", 0o600)
        (self.data / ".part-2").rename(self.data / "part-2")
        self.wait_for_all()
        self.assertEqual((self.mounted / "streams/concat").stat().st_mode & 0o777, 0o400)
        self.assertEqual((self.mounted / "records/0").stat().st_mode & 0o777, 0o444)
        self.assertEqual((self.mounted / "records/3").stat().st_mode & 0o777, 0o400)

    @mounting.only_root
    def test_ordinary_user_can_follow(self):
        self.write("part-1")
        self.start(user=mounting.NOBODY)
        self.write("part-2")
        count = lambda: len(mounting.run("ls", self.mounted / "records", user=mounting.NOBODY).stdout.splitlines())
        mounting.wait_for(lambda: count() == len(self.records), "all records")


class Confined(mounting.ConfinedCase):
    def test_new_shards_are_read_by_a_confined_daemon(self):
        data = self.folder / "data"
        data.mkdir()
        (data / "part-1").write_bytes(tfrecord([b"first"]))
        mounted = self.mount(data / "part-*", options=["join", "follow", "sandbox=yes"])
        (data / "part-2").write_bytes(tfrecord([b"second"]))
        mounting.wait_for(lambda: (mounted / "records/1").exists(), "the new record")
        self.assertEqual((mounted / "records/1").read_bytes(), b"second")
        self.assertEqual(mounted.unmount(), 0)


if __name__ == "__main__":
    mounting.main()
