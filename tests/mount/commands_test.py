#!/usr/bin/env python3
"""Commands that read a file directly show the same as a mount of it."""
import errno
import json
import os
import subprocess
from pathlib import Path

import mounting
from built import is_thorough

EXPECTATION = ".expect.json"
ONE_IN = 6  # samples, in a quick run
TURNS = 3  # each sample is the argument of `cat`, and of one in so many other commands
PIECE = 4096
STATUSES = (0, 4, 5)


class BesideAMount(mounting.Case):
    containers = {}  # {name: sample} of those that are containers, which the first case finds

    def setUp(self):
        """Mounts every sample that is a container, each under a unique name."""
        super().setUp()
        self.sources = []
        (self.folder / "sources").mkdir()
        if not self.containers:
            self.find_containers()
        for name, path in self.containers.items():
            self.sources.append(self.folder / "sources" / name)
            self.sources[-1].symlink_to(path)
        self.mounted = self.mount(*self.sources)

    def find_containers(self):
        corpus = Path(os.environ.get("RECORDFS_CORPUS", mounting.place.checkout / "tests" / "corpus"))
        expected = sorted(str(path)[: -len(EXPECTATION)] for path in corpus.rglob(f"*{EXPECTATION}"))
        samples = mounting.some_of([path for path in map(Path, expected) if path.is_file()], ONE_IN)
        for number, path in enumerate(samples):
            link = self.folder / f"{number:04}-{path.name}"
            link.symlink_to(path)
            if self.command("info", link).returncode == 0:
                self.containers[link.name] = path
        self.assertGreater(len(self.containers), len(samples) // 2)

    def some_sources(self, turn):
        """Returns the mounted samples whose turn it is; all of them if tests are thorough."""
        return self.sources if is_thorough() else self.sources[turn::TURNS]

    def command(self, *words):
        return subprocess.run([mounting.program("recordfs"), *map(str, words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, env=self.environment())

    def shown(self, path):
        """Returns the bytes before the first error, and that error or None."""

        pieces = []
        with path.open("rb", buffering=0) as file:
            while True:
                try:
                    piece = file.read(PIECE)
                except OSError as failed:
                    return b"".join(pieces), failed
                if not piece:
                    return b"".join(pieces), None
                pieces.append(piece)

    def test_cat_writes_the_stream(self):
        whole = 0
        for source in self.sources:
            shown, failed = self.shown(self.mounted / source.name / "streams/concat")
            done = self.command("cat", source)
            with self.subTest(sample=source.name):
                self.assertIn(done.returncode, STATUSES)
                if failed is None:
                    whole += 1
                    self.assertEqual(done.stdout, shown)
                else:
                    self.assertIn(failed.errno, (errno.EIO, errno.EOPNOTSUPP))
                    self.assertNotEqual(done.returncode, 0)
                    self.assertEqual(done.stdout[:len(shown)], shown)
        self.assertGreater(whole, len(self.sources) // 2)

    def test_cat_lines_writes_the_lines_stream(self):
        for source in self.some_sources(0):
            shown, failed = self.shown(self.mounted / source.name / "streams/lines")
            if failed is None:
                with self.subTest(sample=source.name):
                    self.assertEqual(self.command("cat", "--lines", source).stdout, shown)

    def test_ls_chunks_prints_chunks_tsv(self):
        for source in self.some_sources(1):
            with self.subTest(sample=source.name):
                self.assertEqual(self.command("ls", "--chunks", source).stdout,
                                 (self.mounted / source.name / "index/chunks.tsv").read_bytes())

    def test_info_json_prints_info_json(self):
        for source in self.some_sources(2):
            with self.subTest(sample=source.name):
                made = json.loads(self.command("info", "--json", source).stdout)
                self.assertEqual(made.pop("file"), str(source))
                self.assertEqual(made, json.loads((self.mounted / source.name / "info.json").read_bytes()))


if __name__ == "__main__":
    mounting.main()
