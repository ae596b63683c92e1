#!/usr/bin/env python3
"""recordfs index: what it saves, and its messages. tests/mount tests that a mount uses the saved index."""
import os
import shutil
import time

import commands

GOOD_FILE = "riegeli/simple_zstd9.riegeli"
WITHOUT_SIZES = "proio/g03-lz4.proio"  # headers do not contain decoded sizes
DAMAGED = "riegeli/dmg_flip_first_signature.riegeli"


class Index(commands.Case):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "caches/recordfs"

    def saved(self):
        return sorted(path.name for path in self.cache.iterdir()) if self.cache.exists() else []

    def test_index_is_saved_silently(self):
        self.assertEqual(self.good("index", self.copy(GOOD_FILE), self.copy(WITHOUT_SIZES)), b"")
        self.assertEqual(len(self.saved()), 3)  # the second file also needs decoded sizes and record counts

    def test_verbose_prints_paths(self):
        files = [self.copy(GOOD_FILE, "two\nlines"), self.copy(WITHOUT_SIZES, "[x]")]
        lines = self.good("index", "-v", *files).decode().splitlines()
        self.assertEqual(sorted(line.rsplit("/", 1)[1] for line in lines), self.saved())
        self.assertTrue(lines[0].startswith(commands.stored(f"{self.folder}/two\\x0alines: {self.cache}/")), lines)
        self.assertTrue(lines[1].startswith(commands.stored(f"{self.folder}/[x]: {self.cache}/")), lines)

    def test_file_written_just_now_is_indexed(self):
        file = self.copy(GOOD_FILE)
        now = int(time.time())
        os.utime(file, (now, now))  # as on a file system with whole seconds
        self.good("index", file)
        self.assertEqual(len(self.saved()), 1)

    def test_index_is_rewritten_only_after_a_change(self):
        file = self.copy(GOOD_FILE)
        self.good("index", file)
        before = (self.cache / self.saved()[0]).read_bytes()
        self.good("index", file)
        self.assertEqual((self.cache / self.saved()[0]).read_bytes(), before)
        shutil.copyfile(commands.sample("riegeli/simple_brotli0_window.riegeli"), file)
        self.good("index", file)
        self.assertNotEqual((self.cache / self.saved()[0]).read_bytes(), before)

    def test_index_of_another_version_is_replaced_silently(self):
        path = self.copy(GOOD_FILE)
        self.good("index", path)
        saved = self.cache / self.saved()[0]
        good = saved.read_bytes()
        for version in (0, 4, 6):
            saved.write_bytes(good[:8] + version.to_bytes(4, "little") + good[12:])
            self.good("index", path)
            self.assertEqual(saved.read_bytes(), good, version)

    def test_directory_can_be_chosen(self):
        self.good("index", "--index", self.folder / "mine", self.copy(GOOD_FILE))
        self.assertEqual((len(list((self.folder / "mine").iterdir())), self.saved()), (1, []))

    def test_environment_without_a_directory_is_reported(self):
        environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
        self.environment = lambda: environment
        self.assert_ends(commands.PARTLY_DONE, "no directory for the index", "index", commands.sample(GOOD_FILE))

    def test_index_no_saves_nothing(self):
        self.assert_ends(commands.WRONG_USE, r"--index no saves no index \(try: --index auto\)", "index", "--index", "no", commands.sample(GOOD_FILE))

    def test_unusable_directory_is_reported(self):
        (self.folder / "file").write_text("", encoding="utf-8")
        done = self.recordfs("index", "--index", str(self.folder / "file"), commands.sample(GOOD_FILE))
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, "cannot save the index in .*/file: cannot open the directory")

    def test_damaged_file_is_indexed_and_reported(self):
        done = self.recordfs("index", commands.sample(DAMAGED))
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertRegex(done.err, r"\Arecordfs: \S+: bytes 0 to 64: damage: [^\n]*\n\Z")
        self.assertEqual(len(self.saved()), 1)

    def test_missing_file_and_other_files_are_reported(self):
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "index", self.folder / "missing", self.copy(GOOD_FILE))
        self.assertEqual(len(self.saved()), 1)
        (self.folder / "text").write_text("words\n", encoding="utf-8")
        self.assert_ends(commands.CANNOT_OPEN, "not a record container", "index", self.folder / "text")

    def test_usage_errors_are_reported(self):
        self.assert_ends(commands.WRONG_USE, "FILE is required", "index")

    def test_closed_pipe_is_silent_and_full_disk_is_reported(self):
        file = self.copy(GOOD_FILE)
        self.good("index", file)
        self.assertEqual(self.until_the_pipe_closes(1, "index", "-v", *[file] * 2000).err, "")
        with open("/dev/full", "wb") as full:
            done = self.recordfs("index", "-v", file, stdout=full)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertRegex(done.err, r"\Arecordfs: standard output: .*\n\Z")

    def test_terminal_shows_nothing(self):
        done = self.on_terminal("index", self.copy(GOOD_FILE))
        self.assertEqual(done, (commands.GOOD, b"", ""))


if __name__ == "__main__":
    commands.main()
