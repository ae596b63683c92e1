#!/usr/bin/env python3
"""What words mean on the slow storage: commands print, and mounts show, what they do for the local files."""
import os
import subprocess
from pathlib import Path

import built
import mounting

DATABASE = "database/rocksdb7-families"
COMMANDS = (("info", "--json"), ("ls",), ("cat", "--lines"), ("tail", "-n", "2"), ("grep", "-c", "a"), ("verify", "--json"), ("splits",))


def ran(program, *words):
    """Returns (exit status, output, messages) without the scheme."""
    done = subprocess.run([program, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "XDG_CACHE_HOME": "/nonexistent"}, timeout=mounting.PATIENCE, check=False)
    return done.returncode, done.stdout.replace(b"slow:", b""), done.stderr.replace(b"slow:", b"")


def tree(folder):
    """Returns {path: content, or errno} of the files below a folder, and of what is not listed in it."""
    found = {}
    for place in (folder, folder / ".views/index", folder / ".views/streams"):
        for below, _, names in os.walk(place):
            for name in names:
                path = os.path.join(below, name)
                try:
                    content = Path(path).read_bytes().replace(b"slow:", b"")
                except OSError as error:  # of a missing shard
                    content = error.errno
                found[os.path.relpath(path, folder)] = content
    return found


class Words(mounting.Case):
    def setUp(self):
        super().setUp()
        self.set = self.folder / "set"
        self.set.mkdir()
        made, _ = mounting.make_container(self.folder, 40, "leveldb")
        for number in (0, 1, 3):
            os.link(made, self.set / f"t-{number:05}-of-00004.log")
        (self.set / "notes").write_text("no container")
        os.utime(self.set, (1, 1))

    def compare(self, *command):
        local = str(built.place.programs / "recordfs")
        stored = [built.stored(word) if str(word).startswith("/") else word for word in command]
        expected = ran(local, *command)
        self.assertEqual(ran(mounting.program("recordfs"), *stored), expected, command)
        return expected

    def test_commands_print_the_same(self):
        words = [self.set / "t-00000-of-00004.log", self.set, f"{self.set}/t@4.log", f"{self.set}/t-*", f"{self.folder}/s*/t-*",
                 self.set / "notes", self.set / "missing", f"{self.folder}/no*"]
        for word in words:
            for command, *options in COMMANDS:
                with self.subTest(word=word, command=command):
                    self.compare(command, *options, word)

    def test_directories_are_listed_with_those_below_them(self):
        below = self.set / "below/deeper"
        below.mkdir(parents=True)
        os.link(self.set / "t-00001-of-00004.log", below / "more.log")
        for command in (("verify", "-r", "--json"), ("grep", "-r", "-c", "a")):
            self.assertIn(b"below/deeper/more.log", self.compare(*command, self.set)[1])

    def test_lines_of_a_manifest_may_be_urls(self):
        for name, prefix in (("local", ""), ("urls", "slow:")):
            lines = [f"{prefix}{self.set}/t-{number:05}-of-00004.log" for number in (0, 1)]
            (self.folder / name).write_text("\n".join(lines))
        expected = ran(mounting.program("recordfs"), "cat", "--lines", "--manifest", self.folder / "local")
        self.assertEqual(expected[0], 0, expected)
        for manifest in (self.folder / "urls", built.stored(self.folder / "local"), built.stored(self.folder / "urls")):
            self.assertEqual(ran(mounting.program("recordfs"), "cat", "--lines", "--manifest", manifest), expected, manifest)

    def test_databases_have_the_same_keys(self):
        database = built.sample(DATABASE)
        for word in (database, *sorted(database.glob("*.sst"))[:1], *sorted(database.glob("*.log"))[:1]):
            for command, *options in (("keys", "--json"), ("cat", "--json"), ("info", "--json"), ("verify", "--json")):
                with self.subTest(word=word.name, command=command):
                    self.compare(command, *options, word)

    def test_joined_mount_shows_the_same(self):
        joined = [self.mount(word, options=["join"]) for word in (self.set, built.stored(self.set))]
        trees = [tree(mounted.point) for mounted in joined]
        self.assertEqual(trees[1], trees[0])
        self.assertGreater(len(trees[0]), 100)

    def test_mounted_file_belongs_to_the_user_that_mounts(self):
        mounted = self.mount(self.set / "t-00000-of-00004.log")
        status = (mounted / "records/000000000").stat()
        self.assertEqual((status.st_uid, status.st_gid, status.st_mode & 0o777), (os.geteuid(), os.getegid(), 0o400))

    def test_mirrored_directory_shows_the_same(self):
        (self.set / "below").mkdir()
        (self.set / "below/text.txt").write_text("no container\n", encoding="utf-8")
        trees = [tree(self.mount(word).point) for word in (self.set, built.stored(self.set))]
        self.assertEqual(trees[1], trees[0])
        self.assertGreater(len(trees[0]), 100)


if __name__ == "__main__":
    mounting.main()
