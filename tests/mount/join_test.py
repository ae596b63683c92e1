#!/usr/bin/env python3
"""Data sets (--join): the records of all shards in order, few open files, and shards that are missing or damaged."""
import errno
import os
import re
import threading
import time
from pathlib import Path

import mounting
from built import EXPECTATION, place, shard_counts
from tfrecords import tfrecord

FORMATS = sorted(header.parent.name for header in (Path(__file__).parents[2] / "core" / "formats").glob("*/format.h"))
PARTLY_DONE = 5
LARGEST_SAMPLE = 200_000  # bytes
MOST_OPEN = 64
TINY = 1024  # shards


def samples_of(form, number):
    """Returns the names of so many readable samples of a format, in a fixed order; of many, those with few records."""
    top = place.checkout / "tests" / "corpus" / form
    found = []
    for path in sorted([*top.glob(f"*{EXPECTATION}"), *top.glob(f"small/*{EXPECTATION}")]):
        name = str(path.relative_to(place.checkout / "tests" / "corpus"))[:-len(EXPECTATION)]
        expected = mounting.expectation(name)
        if 0 < expected["num_records"] <= 500 and mounting.sample(name).stat().st_size <= LARGEST_SAMPLE:
            verified = mounting.run(mounting.program("recordfs"), "verify", mounting.sample(name))
            if verified.returncode == 0 or (verified.returncode == PARTLY_DONE and " unchecked: " in verified.stdout):
                found.append(name)
    if number > 7:
        found.sort(key=lambda name: mounting.expectation(name)["num_records"])
        found = found[:7]
    step = max(1, len(found) // 7)
    return (found[::step][:7] * number)[:number]


def read_all(folder):
    """Returns {name: bytes} of the files in a folder, in listing order."""
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


class JoinCase(mounting.Case):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()

    def join(self, *sources, options=(), flags=("-f", "-v", "--join"), **more):
        return self.mount(*sources, options=options, flags=flags, **more)

    def opened(self, mounted):
        """Returns how many times a shard was opened."""
        return len(re.findall(r"data/.*: \S+, \d+ bytes?$", mounted.log(), re.MULTILINE))

    def write_tiny(self, number, form="part-{:05}-of-{:05}.tfrecord"):
        """Writes shards of one to three records. Returns the records of each."""
        shards = []
        for shard in range(number):
            records = [f"record {index} of shard {shard}".encode() for index in range(1 + shard % 3)]
            (self.data / form.format(shard, number)).write_bytes(tfrecord(records))
            shards.append(records)
        return shards


class Formats(JoinCase):
    def check(self, form, number):
        names = samples_of(form, number)
        expectations = {name: mounting.expectation(name) for name in names}
        for shard, name in enumerate(names):
            # The suffix tells some formats.
            mounting.copy_of(name, self.data, f"{shard}-{os.path.basename(name)}")
        paths = [self.data / f"{shard}-{os.path.basename(name)}" for shard, name in enumerate(names)]
        mounted = self.join(*paths, flags=["-f", "--join"])
        records = read_all(mounted / "records")
        self.assertEqual(sorted(records), [f"{ordinal:09}" for ordinal in range(len(records))])
        in_order = [records[name] for name in sorted(records)]
        first = 0
        for shard, name in enumerate(names):
            expected = expectations[name]
            there = in_order[first:first + expected["num_records"]]
            self.assertEqual(mounting.stream_digest(there), expected["stream_sha256"], name)
            own = mounted / "shards" / paths[shard].name / "records"
            self.assertEqual([own.joinpath(file).read_bytes() for file in sorted(os.listdir(own))], there, name)
            if there:
                self.assertEqual((own / "0").stat().st_ino, (mounted / "records" / str(first)).stat().st_ino)
            first += expected["num_records"]
        self.assertEqual(first, len(records))
        self.assertEqual((mounted / "streams" / "concat").read_bytes(), b"".join(in_order))
        self.assertEqual((mounted / "streams" / "lines").read_bytes(), b"".join(record + b"\n" for record in in_order))
        self.assertEqual(len(os.listdir(mounted / "thousands")), (len(records) + 999) // 1000)
        summary = (mounted / "index" / "summary.json").read_text()
        self.assertIn(f'"records": {len(records)},', summary)
        self.assertEqual(mounted.unmount(), 0)


def _add_format(form, number):
    def test(self):
        self.check(form, number)
    setattr(Formats, f"test_{number}_shards_of_{form}_have_the_records_of_their_files_in_order", test)


for _form in FORMATS:
    for _number in shard_counts():
        _add_format(_form, _number)


class ManyShards(JoinCase):
    def setUp(self):
        super().setUp()
        self.shards = self.write_tiny(TINY)
        self.records = [record for shard in self.shards for record in shard]

    def descriptors(self, mounted):
        return len(os.listdir(f"/proc/{mounted.daemon.pid}/fd"))

    def watch(self, mounted):
        """Starts a thread that finds the largest number of open descriptors. Call the result to get it."""
        most, ending = [0], threading.Event()

        def look():
            while not ending.is_set():
                most[0] = max(most[0], self.descriptors(mounted))
                time.sleep(0.001)
        thread = threading.Thread(target=look)
        thread.start()

        def end():
            ending.set()
            thread.join()
            return most[0]
        return end

    def test_all_records_are_there_with_few_descriptors(self):
        mounted = self.join(self.data / f"part-?????-of-{TINY:05}.tfrecord")
        end = self.watch(mounted)
        try:
            records = read_all(mounted / "records")
            self.assertEqual([records[name] for name in sorted(records)], self.records)
            self.assertEqual((mounted / "streams" / "lines").read_bytes(), b"".join(record + b"\n" for record in self.records))
        finally:
            most = end()
        self.assertLessEqual(most, MOST_OPEN)
        self.assertEqual(mounted.unmount(), 0)

    def test_with_saved_indexes_a_record_of_a_new_mount_opens_only_its_shard(self):
        name = self.data / f"part@{TINY}.tfrecord"
        cache = self.folder / "saved"
        self.assertEqual(self.recordfs("index", "--index", cache, name).returncode, 0)
        mounted = self.join(name, options=[f"index={cache}"])
        self.assertIn('"format": "tfrecord"', (mounted / "info.json").read_text())
        self.assertEqual(self.opened(mounted), 0)
        ordinal = len(self.records) - 10
        self.assertEqual((mounted / "records" / str(ordinal)).read_bytes(), self.records[ordinal])
        self.assertEqual(self.opened(mounted), 1)
        self.assertIn(f'"records": {len(self.records)},', (mounted / "index" / "summary.json").read_text())
        self.assertEqual((mounted / "streams" / "concat").stat().st_size, sum(map(len, self.records)))
        self.assertEqual(self.opened(mounted), 1)

    def test_shards_that_changed_since_their_index_was_saved_are_opened(self):
        name = self.data / f"part@{TINY}.tfrecord"
        cache = self.folder / "saved"
        self.assertEqual(self.recordfs("index", "--index", cache, name).returncode, 0)
        changed = self.data / f"part-00001-of-{TINY:05}.tfrecord"
        before = changed.stat()
        with changed.open("r+b") as file:  # as many bytes and another number of records
            file.write(tfrecord([b"r" * (before.st_size - 16)]))
        os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(changed.stat().st_size, before.st_size)
        mounted = self.join(name, options=[f"index={cache}"])
        self.assertEqual((mounted / "records" / "2").read_bytes(), self.shards[2][0])
        self.assertLessEqual(self.opened(mounted), 2)

    def test_readers_in_parallel_get_their_records(self):
        mounted = self.join(self.data)
        wrong = []

        def read(first):
            for ordinal in range(first, len(self.records), 29):
                if (mounted / "records" / str(ordinal)).read_bytes() != self.records[ordinal]:
                    wrong.append(ordinal)
        readers = [threading.Thread(target=read, args=(first,)) for first in range(8)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        self.assertEqual(wrong, [])
        self.assertEqual(mounted.unmount(), 0)


class Gaps(JoinCase):
    def test_missing_shards_are_one_row_of_damage(self):
        for number in (3, 99_999):
            (self.data / f"x-{number:05}-of-100000.tfrecord").write_bytes(tfrecord([b"x"]))
        mounted = self.join(self.data)
        rows = (mounted / "index" / "damage.tsv").read_text().splitlines()
        self.assertEqual([row.split("\t")[-1] for row in rows[1:]],
                         ["shards 00000-00002 (3) are missing", "shards 00004-99998 (99995) are missing"])
        self.assertEqual(rows[2].split("\t")[0], "x-00004-of-100000.tfrecord")
        self.assertEqual(mounted.unmount(), 0)

    def test_file_that_is_no_container_has_no_records(self):
        shards = self.write_tiny(2)
        other = self.data / "other"
        other.write_bytes(b"no container" * 100)
        mounted = self.join(self.data / "part-00000-of-00002.tfrecord", other, self.data / "part-00001-of-00002.tfrecord")
        self.assertEqual(len(os.listdir(mounted / "records")), len(shards[0]) + len(shards[1]))
        self.assert_fails_with(errno.EIO, os.listdir, mounted / "shards" / "other")
        self.assertRegex(mounted.log(), r"other: ")

    def test_shard_that_was_replaced_after_mounting_is_an_error(self):
        self.write_tiny(3)
        mounted = self.join(self.data)
        replaced = self.data / "part-00001-of-00003.tfrecord"
        replaced.write_bytes(tfrecord([b"something else"]))
        self.assert_fails_with(errno.EIO, os.listdir, mounted / "shards" / replaced.name)
        self.assertIn("changed after it was mounted", mounted.log())
        (self.data / "part-00002-of-00003.tfrecord").unlink()
        self.assert_fails_with(errno.EIO, os.listdir, mounted / "shards" / "2")
        self.assertEqual(len(os.listdir(mounted / "records")), 1)


class Manifests(JoinCase):
    def setUp(self):
        super().setUp()
        self.shards = self.write_tiny(4)
        self.list = self.folder / "list.txt"

    def write_list(self, *numbers):
        self.list.write_text("# shards\n" + "".join(f"data/part-{number:05}-of-00004.tfrecord\n" for number in numbers))

    def records_of(self, top, *numbers):
        records = read_all(top / "records")
        self.assertEqual([records[name] for name in sorted(records)],
                         [record for number in numbers for record in self.shards[number]])

    def test_files_are_shown_in_the_order_of_the_manifest(self):
        self.write_list(3, 1)
        point = self.new_point()
        for words in (["--join", "--manifest", self.list, point], [point, "--manifest", self.list],
                      ["-o", "manifest", self.list, point]):
            self.assertEqual(self.recordfs(*words).returncode, 0, words)
            self.records_of(point, 3, 1)
            self.assertEqual(os.listdir(point / "shards"), ["part-00003-of-00004.tfrecord", "part-00001-of-00004.tfrecord"])
            self.assertEqual(mounting.run("fusermount3", "-u", point).returncode, 0)

    def test_mount_point_is_named_after_the_manifest(self):
        self.write_list(2)
        done = self.recordfs("mount", "--manifest", "../list.txt", cwd=self.data)
        self.assertEqual((done.returncode, done.stdout), (0, "list\n"), done.stderr)
        self.records_of(self.data / "list", 2)
        self.assertEqual(mounting.run("fusermount3", "-u", self.data / "list").returncode, 0)

    def test_manifest_may_be_standard_input(self):
        point = self.new_point()
        self.write_list(1)
        with self.list.open("rb") as file:
            done = self.recordfs("--manifest", "-", point, stdin=file, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.records_of(point, 1)
        self.assertEqual(mounting.run("fusermount3", "-u", point).returncode, 0)
        done = self.recordfs("mount", "--manifest", "-", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (1, "recordfs: no mount point given (try recordfs --help)\n"))

    def test_later_changes_of_the_manifest_have_no_effect(self):
        self.write_list(0, 1)
        mounted = self.join(self.list, flags=["-f", "-v", "-o", "manifest"])
        self.write_list(2)
        self.records_of(mounted, 0, 1)
        self.assertEqual(mounted.unmount(), 0)

    def test_missing_file_is_reported_and_keeps_its_number(self):
        self.write_list(0, 1, 2)
        (self.data / "part-00001-of-00004.tfrecord").unlink()
        mounted = self.join(self.list, flags=["-f", "-v", "-o", "manifest"])
        self.records_of(mounted, 0, 2)
        self.assertEqual(os.readlink(mounted / "shards" / "2"), "../.shards/part-00002-of-00004.tfrecord")
        self.assertRegex((mounted / "index" / "damage.tsv").read_text(), r"part-00001-of-00004\.tfrecord\t.*this shard is missing")

    def test_other_sources_and_follow_are_refused(self):
        self.write_list(0)
        done = self.recordfs("--manifest", self.list, self.data, self.new_point())
        self.assertEqual(done.returncode, 1)
        self.assertIn("a manifest excludes other sources", done.stderr)
        done = self.recordfs("-o", "follow", "--manifest", self.list, self.new_point())
        self.assertEqual((done.returncode, done.stderr),
                         (1, "recordfs: -o manifest and -o follow are mutually exclusive (try recordfs --help)\n"))


class Rest(JoinCase):
    def test_decoded_records_have_the_ordinal_of_the_set(self):
        first, second = mounting.sample("tfrecord/small.tfrecord"), mounting.sample("tfrecord/examples.tfrecord")
        mounted = self.join(first, second)
        ordinal = mounting.expectation("tfrecord/small.tfrecord")["num_records"] + 3
        there = mounted / "records" / f"{ordinal}.json"
        alone = self.mount(second)
        self.assertEqual(there.read_bytes(), (alone / "records" / "3.json").read_bytes())
        self.assertEqual(there.stat().st_ino, (mounted / "shards" / "examples.tfrecord" / "records" / "3.json").stat().st_ino)

    def test_parts_of_records_are_inside_the_set_by_its_ordinals(self):
        for shard in range(2):
            mounting.copy_of("leveldb_log/rocksdb-cf-txn/000018.log", self.data, f"part-{shard:05}-of-00002.log")
        mounted = self.join(self.data)
        number = len(os.listdir(mounted / "records"))
        self.assertEqual(os.readlink(mounted / "inside"), ".views/inside")
        self.assertEqual(sorted(os.listdir(mounted / "inside")), [f"{ordinal:09}" for ordinal in range(number)])
        self.assertEqual(os.readlink(mounted / "inside" / str(number - 1)), f"{number - 1:09}")
        for ordinal in (0, number // 2 - 1, number // 2, number - 1):
            shard, own = divmod(ordinal, number // 2)
            of_shard = mounted / "shards" / str(shard) / "inside" / f"{own:09}"
            of_set = mounted / "inside" / str(ordinal)
            self.assertEqual(sorted(os.listdir(of_set)), sorted(os.listdir(of_shard)))
            self.assertEqual((of_set / "000000/op").read_bytes(), (of_shard / "000000/op").read_bytes())
            self.assertEqual((of_set / "000000").stat().st_ino, (of_shard / "000000").stat().st_ino)
        self.assertFalse(os.path.lexists(mounted / "inside" / str(number)))

    def test_shard_that_cannot_be_opened_hides_no_inside(self):
        (self.data / "part-00000-of-00002.log").write_bytes(b"no container" * 1000)
        mounting.copy_of("leveldb_log/rocksdb-cf-txn/000018.log", self.data, "part-00001-of-00002.log")
        mounted = self.join(self.data)
        self.assertIn("inside", os.listdir(mounted / ".views"))
        self.assertEqual(os.readlink(mounted / "inside"), ".views/inside")

    def test_options_that_exclude_each_other_are_refused(self):
        done = self.recordfs("-o", "join,nest", self.data, self.new_point())
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "recordfs: -o join and -o nest are mutually exclusive (try recordfs --help)\n")

    def test_mount_point_above_the_shards_is_refused(self):
        self.write_tiny(2)
        done = self.recordfs("--join", "-o", "nonempty", self.data / "part@2.tfrecord", self.data)
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot mount: it would hide a shard", done.stderr)

    def test_links_are_followed_and_keep_their_names(self):
        shards = self.write_tiny(2)
        links = self.folder / "links"
        links.mkdir()
        for number, name in enumerate(sorted(os.listdir(self.data))):
            (links / f"link-{number}").symlink_to(self.data / name)
        mounted = self.join(links / "link-0", links / "link-1")
        self.assertEqual(os.listdir(mounted / "shards"), ["link-0", "link-1"])
        records = read_all(mounted / "records")
        self.assertEqual([records[name] for name in sorted(records)], [*shards[0], *shards[1]])

    def test_relative_names_work_in_the_background(self):
        shards = self.write_tiny(3)
        done = self.recordfs("mount", "--join", "part@3.tfrecord", cwd=self.data)
        self.assertEqual((done.returncode, done.stdout), (0, "part\n"), done.stderr)
        self.assertEqual((self.data / "part" / "records" / "5").read_bytes(), shards[2][2])
        self.assertEqual(mounting.run("fusermount3", "-u", self.data / "part").returncode, 0)


if __name__ == "__main__":
    mounting.main()
