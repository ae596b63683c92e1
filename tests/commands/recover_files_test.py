#!/usr/bin/env python3
"""recordfs recover: which files it writes, and which it leaves as they are."""
import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import built
import commands

SHARDS = [f"tfrecord/train-0000{number}-of-00002" for number in range(2)]
DAMAGED = "tfrecord/damaged/data-flip.tfrecord"


class RecoverFiles(commands.Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.out.mkdir()

    def records(self, path):
        """Returns what `cat --skip-damage` writes of a file, each record with its length."""
        return self.recordfs("cat", "--skip-damage", "--delimited", path).out

    def test_existing_file_is_replaced_only_if_that_is_wanted(self):
        target = self.out / "x"
        target.write_bytes(b"mine")
        self.assert_ends(commands.PARTLY_DONE, r"File exists \(-f replaces it\)", "recover", commands.sample(DAMAGED), "-o", target)
        self.assertEqual(target.read_bytes(), b"mine")
        self.assertEqual(self.recordfs("recover", "-f", commands.sample(DAMAGED), "-o", target).status, commands.DAMAGE)
        self.assertEqual(len(built.delimited(self.records(target))), 299)
        self.assertEqual(os.listdir(self.out), ["x"])

    def test_file_that_is_read_is_never_written(self):
        source = self.copy(DAMAGED)
        (self.folder / "b").mkdir()
        other = self.copy("tfrecord/small.tfrecord", f"b/{source.name}")
        manifest = self.folder / "list"
        manifest.write_text(f"{source}\n", encoding="utf-8")
        (self.out / "link").symlink_to(source)
        read = [source, other, manifest]
        before = [path.read_bytes() for path in read]
        for words in ([source, "-o", source], [source, "-o", self.out / "link"], [source, "-o", self.folder],
                      ["--manifest", manifest, "-o", manifest],
                      *([source, "-o", self.out / "y", "--report", path] for path in (source, self.out / "link")),
                      ["--manifest", manifest, "-o", self.out / "y", "--report", manifest],
                      [f"{self.folder}/{source.name[:3]}*", "-o", self.out, "--report", source]):
            with self.subTest(words=words):
                self.assert_ends(commands.WRONG_USE, "is a file that is read, which is never written", "recover", "-f", *map(str, words))
                self.assertEqual([path.read_bytes() for path in read], before)
                self.assertEqual(os.listdir(self.out), ["link"])
        done = self.recordfs("recover", "-f", source, other, "-o", other.parent)  # the output of the one is the other
        self.assertEqual((done.status, [path.read_bytes() for path in read]), (commands.WRONG_USE, before), done.err)

    def test_output_in_a_missing_directory_is_refused(self):
        database = self.folder / "database"
        database.mkdir()
        (database / "CURRENT").write_bytes(b"MANIFEST-000001\n")
        (database / "MANIFEST-000001").touch()
        for source in (self.copy(DAMAGED), database):
            for output in ("none/x", "none/x/", "none/x//"):
                self.assert_ends(commands.PARTLY_DONE, f": there is no directory {self.folder}/none/",
                                 "recover", source, "-o", f"{self.folder}/{output}")

    def test_report_has_another_name_than_the_output(self):
        source = self.copy(DAMAGED)
        self.assert_ends(commands.WRONG_USE, "is the report", "recover", source, "-o", f"{self.out}/", "--report", self.out / source.name)
        self.assert_ends(commands.WRONG_USE, "is the report", "recover", source, "-o", self.out / "x", "--report", f"{self.out}/./x")
        bare = self.recordfs("recover", source.absolute(), "-f", "-o", "x", "--report", "x", cwd=self.out)
        self.assertEqual((bare.status, os.listdir(self.out)), (commands.WRONG_USE, []), bare.err)

    def tree(self, folder):
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())

    def test_files_of_subdirectories_keep_their_paths(self):
        event = "events.out.tfevents.1700000000.host"
        shards = [f"{run}/{event}" for run in ("r1", "r2", "r2/sub")]
        logs = self.folder / "logs"
        for shard in shards:
            (logs / shard).parent.mkdir(parents=True, exist_ok=True)
            self.copy(f"tfrecord/{event}", f"logs/{shard}")
        manifest = logs / "list"
        manifest.write_text("".join(f"{shard}\n" for shard in shards), encoding="utf-8")
        out = self.folder / "tree"
        for words, expected in (([logs], shards), ([f"{logs}/r2/../*/{event}"], shards[:2]), ([f"{logs}/r2/s*/*"], [event]),
                                (["--manifest", manifest], shards), (["--link", logs, self.copy(DAMAGED, "bad")], ["bad", *shards])):
            with self.subTest(words=words):
                done = self.recordfs("recover", *map(str, words), "-o", f"{out}/")
                self.assertEqual((done.status, self.tree(out)), (commands.DAMAGE if "bad" in expected else commands.GOOD, expected), done.err)
                for path in expected[expected[0] == "bad":]:
                    if len(expected) > 1:
                        self.assertEqual((out / path).read_bytes(), (logs / path).read_bytes())
                        self.assertEqual((out / path).samefile(logs / path), "--link" in words)
                shutil.rmtree(out)

    def test_missing_shards_are_in_the_report(self):
        for number in (0, 2):
            self.copy(SHARDS[0], f"t-0000{number}-of-00003")
        done = self.recordfs("recover", f"{self.folder}/t-*", "-o", self.out, "--report", self.folder / "lost")
        row = json.loads((self.folder / "lost").read_bytes())
        self.assertEqual((done.status, row["class"]), (commands.DAMAGE, "missing"), done.err)
        self.assertTrue(row["file"].endswith("t-00001-of-00003"), row)

    def test_name_of_another_format_is_said(self):
        for name, is_said in (("x.riegeli", True), ("x.tfrecord", False), ("x.out", False)):
            done = self.recordfs("recover", commands.sample(SHARDS[0]), "-o", self.out / name)
            self.assertEqual((done.status, "becomes a tfrecord file" in done.err), (commands.GOOD, is_said), done.err)

    def test_output_of_a_subdirectory_stays_in_the_directory(self):
        other = self.folder / "other"
        for folder in ("a", "b"):
            (self.folder / "in" / folder).mkdir(parents=True)
            self.copy(SHARDS[0], f"in/{folder}/x")
        other.mkdir()
        (self.out / "a").symlink_to(other)
        for options in ([], ["--link"]):
            done = self.recordfs("recover", "-f", *options, f"{self.folder}/in/*/x", "-o", self.out)
            self.assertEqual((done.status, os.listdir(other), self.tree(self.out)), (commands.PARTLY_DONE, [], ["b/x"]), done.err)
        # What cannot be written leaves no directory, and names that collide leave nothing.
        (self.folder / "in" / "a" / "x").write_bytes(b"no container")
        new = self.folder / "new"
        self.assertEqual(self.recordfs("recover", f"{self.folder}/in/*/x", "-o", f"{new}/").status, commands.CANNOT_OPEN)
        self.assertEqual(self.tree(new), ["b/x"])
        self.assertEqual(os.listdir(new), ["b"])
        (self.folder / "b").write_bytes((self.folder / "in" / "b" / "x").read_bytes())
        for words, why in ((("in/a/x", "in/b/x"), "has the same name as"), (("in/*/x", "b"), "a directory of the same name as")):
            self.assert_ends(commands.WRONG_USE, why, "recover", *(self.folder / word for word in words), "-o", f"{self.folder}/none/")
            self.assertFalse((self.folder / "none").exists())

    def test_report_appears_as_a_whole_or_not_at_all(self):
        report = self.out / "lost"
        words = ("recover", commands.sample(DAMAGED), "-o", self.out / "x", "--report", report)
        report.write_bytes(b"mine")
        self.assert_ends(commands.PARTLY_DONE, r"lost: File exists \(-f replaces it\)", *words)
        self.assertEqual((report.read_bytes(), os.listdir(self.out)), (b"mine", ["lost"]))
        os.chmod(report, 0o400)  # a hidden file replaces it, so its mode does not matter
        self.assertEqual(self.recordfs(*words, "-f").status, commands.DAMAGE)
        lines = report.read_bytes()
        self.assertTrue(json.loads(lines)["records_lost"])
        self.assertEqual(self.recordfs(*words[:-1], "-", "-f").out, lines)
        done = self.recordfs(*words[:-1], "/dev/full", "-f")
        self.assertEqual(done.status, commands.PARTLY_DONE)
        os.remove(self.out / "x")
        self.assertEqual(self.recordfs(*words[:-1], "/dev/full").status, commands.PARTLY_DONE)
        self.assertEqual(os.listdir(self.out), ["lost"])  # no output without its report
        refused = commands.sample("recordio/v2-unknown-transformer.grail-rio")
        self.assertEqual(self.recordfs("recover", refused, *words[2:-1], self.out / "y").status, commands.PARTLY_DONE)
        self.assertEqual(os.listdir(self.out), ["lost"])  # no report without its output

    def test_report_of_a_set_has_the_losses_of_what_was_written_before_a_signal(self):
        (self.folder / "in").mkdir()
        sources = [self.copy(DAMAGED, "in/a"), self.folder / "in" / "b"]
        sources[1].write_bytes(commands.sample("tfrecord/runs.tfrecord").read_bytes() * 200)
        words = ["recover", *sources, "-o", f"{self.out}/", "--report", str(self.out / "lost"), "-j", "1"]
        with subprocess.Popen([commands.program("recordfs"), *commands.encoded(words)], stderr=subprocess.DEVNULL,
                              env=self.environment()) as running:
            deadline = time.monotonic() + commands.PATIENCE
            while not (self.out / "a").exists() and running.poll() is None and time.monotonic() < deadline:
                time.sleep(0.0005)
            running.send_signal(signal.SIGTERM)
            running.wait(commands.PATIENCE)
        self.assertIn(running.returncode, (-signal.SIGTERM, commands.DAMAGE))
        lines = [json.loads(line) for line in (self.out / "lost").read_bytes().splitlines()]
        self.assertTrue(lines.pop(0)["records_lost"])
        self.assertEqual([(line["file"], line["class"]) for line in lines],
                         [] if (self.out / "b").exists() else [(str(sources[1]), "unwritten")])

    def test_report_of_a_set_lists_files_that_are_not_written(self):
        sources = [self.copy(name) for name in (DAMAGED, "tfrecord/runs.tfrecord", SHARDS[0])]
        (self.out / sources[1].name).mkdir()
        report = self.out / "lost"
        words = ("recover", *sources, "-o", f"{self.out}/", "-f", "--report")
        self.assertEqual(self.recordfs(*words, report).status, commands.PARTLY_DONE)
        lines = report.read_bytes()
        self.assertEqual(self.recordfs(*words, "-").out, lines)
        written = sorted(path.name for path in self.out.iterdir() if path.is_file())
        unwritten = [str(source) for source in sources if source.name not in written]
        self.assertIn(str(sources[1]), unwritten)
        self.assertEqual([line["file"] for line in map(json.loads, lines.splitlines()) if line["class"] == "unwritten"], unwritten)

    def test_file_that_cannot_be_opened_leaves_no_report(self):
        source = self.folder / "other"
        source.write_bytes(b"neither a container nor empty")
        done = self.recordfs("recover", source, "-o", self.out / "x", "--report", self.out / "lost")
        self.assertEqual((done.status, os.listdir(self.out)), (commands.CANNOT_OPEN, []))

    def test_output_is_never_a_pipe_or_device(self):
        source = commands.sample(DAMAGED)
        fifo = self.out / source.name
        os.mkfifo(fifo)
        for target in ("-", "/dev/null", fifo):
            self.assert_ends(commands.WRONG_USE, "regular files only", "recover", "-f", source, "-o", target)
        self.assert_ends(commands.PARTLY_DONE, "not a regular file", "recover", "-f", source, "-o", self.out)
        self.assertTrue(fifo.is_fifo())
        self.assertEqual(os.listdir(self.out), [fifo.name])

    def test_new_directory_without_a_file_is_removed_again(self):
        new = self.folder / "new"
        self.assertEqual(self.recordfs("recover", self.folder / "missing", "-o", f"{new}/").status, commands.CANNOT_OPEN)
        self.assertFalse(new.exists())

    def test_files_of_a_set_are_recovered_one_by_one_into_a_directory(self):
        folder = self.folder / "new"
        source = self.copy(DAMAGED)
        done = self.recordfs("recover", commands.sample(SHARDS[0]), source, "-o", f"{folder}/")
        self.assertEqual(done.status, commands.DAMAGE, done.err)
        self.assertEqual(sorted(os.listdir(folder)), sorted([Path(SHARDS[0]).name, source.name]))
        for path in (commands.sample(SHARDS[0]), source):
            self.assertEqual(self.records(folder / path.name), self.records(path))

    def test_files_without_damage_are_linked_if_that_is_wanted(self):
        intact, avro = self.copy(SHARDS[0], "intact"), self.folder / "x.avro"
        avro.write_bytes(next(commands.corpus().glob("avro/*.avro")).read_bytes())
        damaged = self.copy(DAMAGED, "damaged")
        self.assertEqual(self.recordfs("recover", "--link", intact, avro, damaged, "-o", self.out).status, commands.DAMAGE)
        self.assertEqual(sorted(os.listdir(self.out)), ["damaged", "intact", "x.avro"])
        for path in (intact, avro):
            self.assertEqual((self.out / path.name).stat().st_ino, path.stat().st_ino)
        self.assertEqual(len(built.delimited(self.records(self.out / "damaged"))), 299)
        (self.out / "intact").unlink()
        (self.out / "intact").write_bytes(b"mine")
        done = self.recordfs("recover", "-l", intact, "-o", self.out)
        self.assertEqual((done.status, (self.out / "intact").read_bytes()), (commands.PARTLY_DONE, b"mine"))
        self.assertIn("File exists (-f replaces it)", done.err)
        for _ in range(2):  # the second time there is nothing to do
            self.good("recover", "-lf", intact, "-o", f"{self.out}/")
            self.assertEqual(((self.out / "intact").stat().st_ino, len(os.listdir(self.out))), (intact.stat().st_ino, 3))
        commands.with_bit_flipped(intact, 30)
        before = intact.read_bytes()
        self.assert_ends(commands.WRONG_USE, "is a file that is read, which is never written", "recover", "-lf", intact, "-o", self.out)
        self.assertEqual((intact.read_bytes(), (self.out / "intact").read_bytes(), len(os.listdir(self.out))), (before, before, 3))

    def test_several_files_need_a_directory_and_different_names(self):
        files = [self.copy(DAMAGED, "a"), self.copy(DAMAGED, "b")]
        self.assert_ends(commands.WRONG_USE, r"several files are recovered into a directory \(try: -o \S*x/\)",
                         "recover", *files, "-o", self.out / "x")
        (self.folder / "other").mkdir()
        same = self.copy("tfrecord/small.tfrecord", "other/a")
        self.assert_ends(commands.WRONG_USE, "has the same name as", "recover", same, files[0], "-o", self.out)
        self.assertEqual(os.listdir(self.out), [])

    def test_file_that_is_not_written_outranks_what_another_has_lost(self):
        done = self.recordfs("recover", self.copy(DAMAGED), next(commands.corpus().glob("avro/*.avro")), "-o", self.out)
        self.assertEqual((done.status, len(os.listdir(self.out))), (commands.PARTLY_DONE, 1))
        done = self.recordfs("recover", self.copy(DAMAGED, "x"), self.folder / "missing", "-o", self.out)
        self.assertEqual((done.status, len(os.listdir(self.out))), (commands.CANNOT_OPEN, 2))

    def test_hidden_file_of_another_process_stays(self):
        def make_other():
            (self.out / f".x.{os.getpid()}.0.recordfs").write_bytes(b"of another container")
        done = self.recordfs("recover", commands.sample("tfrecord/small.tfrecord"), "-o", self.out / "x", preexec_fn=make_other)
        self.assertEqual((done.status, len(os.listdir(self.out))), (commands.GOOD, 2), done.err)

    def test_full_disk_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        done = self.recordfs("recover", commands.sample("tfrecord/runs.tfrecord"), "-o", self.out / "x", preexec_fn=limit)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertIn(os.strerror(errno.EFBIG), done.err)
        self.assertEqual(os.listdir(self.out), [])

    def test_progress_is_that_of_the_source(self):
        name = "tfrecord/runs.tfrecord"
        shown = self.stderr_on_terminal("recover", commands.sample(name), "-o", self.out / "x")
        size = commands.sample(name).stat().st_size / 1024
        self.assertRegex(shown, f"recover: {size:.1f} KiB of {size:.1f} KiB \\(100 %\\), [^\r]*\r\x1b\\[K\\Z".encode())

    def test_signal_leaves_no_output_and_the_source_as_it_was(self):
        source = self.folder / "large.tfrecord"
        source.write_bytes(commands.sample("tfrecord/runs.tfrecord").read_bytes() * 60)
        before = source.stat()
        for number in (signal.SIGINT, signal.SIGKILL):
            words = ["recover", source, "-o", str(self.out / "x"), "--report", str(self.out / "lost"), "-f"]
            with subprocess.Popen([commands.program("recordfs"), *commands.encoded(words)], stderr=subprocess.PIPE,
                                  env=self.environment()) as running:
                deadline = time.monotonic() + commands.PATIENCE
                while len(os.listdir(self.out)) < 2 and running.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.001)
                running.send_signal(number)
                running.stderr.read()
                running.wait(commands.PATIENCE)
            if running.returncode == commands.GOOD:
                continue  # it was faster
            self.assertEqual(running.returncode, -number)
            self.assertFalse((self.out / "x").exists())
            if number == signal.SIGINT:
                self.assertEqual(os.listdir(self.out), [])
        self.assertEqual((source.stat().st_mtime_ns, source.stat().st_size), (before.st_mtime_ns, before.st_size))


if __name__ == "__main__":
    commands.main()
