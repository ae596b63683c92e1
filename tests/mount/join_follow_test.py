#!/usr/bin/env python3
"""-o join,follow: files that are added to a mounted data set become shards at its end, and nothing else changes."""
import contextlib
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

    def names(self):
        """Returns the names in records/. A process that starts others from several threads gets SIGCHLD although it ignores
        it, if a child ends while the thread that started it still blocks all signals: EINTR of a listing that waits."""
        for _ in range(100):
            with contextlib.suppress(InterruptedError):
                return sorted(os.listdir(self.mounted / "records"))
        return self.fail("each listing is interrupted")

    def shown(self):
        return len(self.names())

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
                names = self.names()
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
