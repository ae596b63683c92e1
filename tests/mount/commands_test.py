#!/usr/bin/env python3
"""Commands that read a file directly show the same as a mount of it."""
import errno
import os
import subprocess
from pathlib import Path

import mounting

EXPECTATION = ".expect.json"
ONE_IN = 6  # samples, in a quick run
PIECE = 4096
STATUSES = (0, 4, 5)


class BesideAMount(mounting.Case):
    def setUp(self):
        """Mounts every sample that is a container, each under a unique name."""
        super().setUp()
        self.sources = []
        (self.folder / "sources").mkdir()
        corpus = Path(os.environ.get("RECORDFS_CORPUS", mounting.place.checkout / "tests" / "corpus"))
        expected = sorted(str(path)[: -len(EXPECTATION)] for path in corpus.rglob(f"*{EXPECTATION}"))
        samples = mounting.some_of([path for path in map(Path, expected) if path.is_file()], ONE_IN)
        for number, path in enumerate(samples):
            source = self.folder / "sources" / f"{number:04}-{path.name}"
            source.symlink_to(path)
            if self.command("info", source).returncode == 0:
                self.sources.append(source)
        self.assertGreater(len(self.sources), len(samples) // 2)
        self.mounted = self.mount(*self.sources)

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
        for source in self.sources:
            shown, failed = self.shown(self.mounted / source.name / "streams/lines")
            if failed is None:
                with self.subTest(sample=source.name):
                    self.assertEqual(self.command("cat", "--lines", source).stdout, shown)

    def test_ls_chunks_prints_chunks_tsv(self):
        for source in self.sources:
            with self.subTest(sample=source.name):
                self.assertEqual(self.command("ls", "--chunks", source).stdout,
                                 (self.mounted / source.name / "index/chunks.tsv").read_bytes())

    def test_info_json_prints_info_json(self):
        for source in self.sources:
            with self.subTest(sample=source.name):
                self.assertEqual(self.command("info", "--json", source).stdout,
                                 (self.mounted / source.name / "info.json").read_bytes())


if __name__ == "__main__":
    mounting.main()
