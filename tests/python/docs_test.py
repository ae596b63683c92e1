#!/usr/bin/env python3
"""The examples in docstrings and the recipes of the README run, and so does `python -m recordfs`."""
import builtins
import contextlib
import doctest
import io
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import cases
import recordfs
from cases import EMBEDDED, Case, place, sample


class Examples(Case):
    def test_docstrings(self):
        sound = self.write("sound.tfrecord", [b"record", b"", b"x" * 300, b"record"])
        failed, tried = doctest.testmod(recordfs, extraglobs={"sample": str(sound)})
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 4)


class Recipes(Case):
    def test_recipes_of_the_readme_run(self):
        page = (place.checkout / "core/python/README.md").read_text(encoding="utf-8")
        recipes = page.split("```python\n")[1].split("```")[0]
        self.assertEqual(re.findall(r"# (\d+)\. ", recipes), [str(number) for number in range(1, 11)])
        records = list(self.open("tfrecord/examples.tfrecord"))
        for shard in range(128):
            self.write(f"train-{shard:05}-of-00128.tfrecord", records * (1 + 16 // len(records)))
        shutil.copy(sample("leveldb_log/spec-abc.log"), self.folder / "old.log")
        (self.folder / "database").symlink_to(sample("database/leveldb-levels"))
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            exec(compile(recipes, "README.md", "exec"), {})
        self.assertIn("feature", shown.getvalue())

    def test_readme_begins_with_what_a_user_needs(self):
        page = (place.checkout / "core/python/README.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^## (.*)$", page, re.MULTILINE),
                         ["Install", "Recipes", "Other libraries", "Errors", "Speed", "Parts"])
        for name in re.findall(r"^\| `(\w+Error)`", page, re.MULTILINE):
            self.assertTrue(issubclass(getattr(recordfs, name, None) or getattr(builtins, name), Exception), name)


class Program(Case):
    def program(self, *words):
        return subprocess.run([sys.executable, "-B", "-m", "recordfs", *map(str, words)], capture_output=True, text=True,
                              check=False)

    def test_info(self):
        done = self.program("info", sample(EMBEDDED))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout), self.open(EMBEDDED).info)

    def test_file_that_does_not_exist(self):
        done = self.program("info", self.folder / "nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("No such file", done.stderr)


if __name__ == "__main__":
    cases.main()
