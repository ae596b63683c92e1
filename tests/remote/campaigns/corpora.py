#!/usr/bin/env python3
"""Every file of a corpus, damaged or not, is read over HTTP as its local copy is: by commands, in mounts and in Python.

    corpora.py --bin FOLDER --root CHECKOUT [--every N] [--corpus FOLDER]... [unittest's options]

Without --corpus: tests/corpus. --every N: one file in N.
"""
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import built
import commands_test
import mount_test
import mounting
import remoting

# In the environment, because a test of mounts starts itself again in namespaces of its own.
EVERY = int(os.environ.get("RECORDFS_TEST_ONE_FILE_IN", "1"))
CORPORA = [Path(name) for name in os.environ.get("RECORDFS_TEST_CORPORA", "").split(":") if name]
MOST_AT_ONCE = 4           # comparisons, each of which runs two programs
MOST_SOURCES = 40          # of one mount
COMMANDS = (["info", "--json", "FILE"], ["verify", "--json", "FILE"], ["cat", "--delimited", "FILE"], ["head", "--json", "-n", "5", "FILE"],
            ["cat", "FILE", "0"], ["cat", "FILE", "-1"], ["ls", "FILE"], ["keys", "--json", "FILE"], ["splits", "--size", "3000", "FILE"])


def files(root):
    """Returns the paths below a corpus, relative to it, of all files that have an expectation; of all if none has one."""
    known = sorted(root.rglob(f"*{built.EXPECTATION}"))
    paths = [Path(str(path).removesuffix(built.EXPECTATION)) for path in known] or sorted(root.rglob("*"))
    return [str(path.relative_to(root)) for path in paths if path.is_file()][::EVERY]


def databases(root):
    found = sorted(str(path.parent.relative_to(root)) for path in root.rglob("CURRENT") if path.is_file())
    # Logs in another directory are found beside a local database only.
    return [name for name in found if "wal-dir" not in name][::EVERY]


class Served(commands_test.Case):
    """Serves each corpus in turn."""

    def answer(self, words, cwd=None):
        """Sorts the messages, because threads report damage in any order."""
        done = super().answer(words, cwd)
        return done._replace(err="".join(sorted(done.err.splitlines(keepends=True))))

    def each_corpus(self):
        for root in CORPORA or [built.corpus()]:
            self.root = root.resolve()
            self.server = self.serve(self.root)
            self.prefix = f"{self.server.origin}/"
            yield self.root

    def compare_all(self, compare, items):
        """Calls compare(item) for all items, some at a time. Reports each that differs."""
        def attempt(item):
            try:
                compare(item)
            except AssertionError as differs:
                return item, differs
            return None
        with remoting.concurrent.futures.ThreadPoolExecutor(MOST_AT_ONCE) as pool:
            for failed in filter(None, pool.map(attempt, items)):
                with self.subTest(item=failed[0]):
                    raise failed[1]


class Commands(Served):
    def test_each_file_has_the_answers_of_its_local_copy(self):
        for root in self.each_corpus():
            names = files(root)
            self.assertTrue(names)
            self.compare_all(lambda item: self.assert_same(*item[1], files=[item[0]]),
                             [(name, words) for name in names for words in COMMANDS])

    def test_each_database_has_the_answers_of_its_local_copy(self):
        for root in self.each_corpus():
            items = [(name, words) for name in databases(root)
                     for words in (["keys", "--json", "FILE"], ["info", "--json", "FILE"], ["verify", "FILE"])]
            self.compare_all(lambda item: self.assert_same(*item[1], files=[item[0]]), items)


class Python(Served):
    def outcome(self, path):
        """Returns all that reading a file in Python has led to: records and errors."""
        import recordfs  # pylint: disable=import-outside-toplevel

        seen = []
        try:
            ds = recordfs.open(path)
            seen.append(len(ds))
            for number in {0, len(ds) // 2, len(ds) - 1}:
                try:
                    seen.append(ds[number])
                except (recordfs.Error, IndexError, OSError) as failed:
                    seen.append(repr(failed))
            seen += list(ds)
        except (recordfs.Error, OSError, ValueError) as failed:
            seen.append(repr(failed))
        text = repr(seen)
        return commands_test.without_copies(text.replace(self.prefix, "").replace(f"{self.root}/", ""))

    def test_each_file_has_the_records_of_its_local_copy(self):
        try:
            import recordfs  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("the Python package is not built")
        for root in self.each_corpus():
            self.compare_all(lambda name, root=root: self.assertEqual(self.outcome(self.url(name)), self.outcome(str(root / name))),
                             files(root))


class Mounts(Served, mounting.Case):
    setUp = mounting.Case.setUp

    def test_each_file_has_the_tree_of_its_local_copy(self):
        for root in self.each_corpus():
            by_folder = {}
            for name in files(root):
                by_folder.setdefault(Path(name).parent, []).append(name)
            for names in by_folder.values():
                for at in range(0, len(names), MOST_SOURCES):
                    self.compare(names[at:at + MOST_SOURCES])

    def compare(self, names):
        """Mounts files, and the same files on the server."""
        trees = []
        for sources in ([str(self.root / name) for name in names], [self.prefix + name for name in names]):
            try:
                mounted = self.mount(*sources, options=["nest"])
            except AssertionError as refused:
                trees.append({"": str(refused)})
                continue
            trees.append(mount_test.tree(mounted.point))
            mounted.unmount()
        local, remote = ({path: self.without_source(content) for path, content in each.items()} for each in trees)
        with self.subTest(names=names):
            self.assertEqual(sorted(remote), sorted(local))
        for path, content in local.items():
            if remote.get(path) != content:
                with self.subTest(path=path):
                    self.assertEqual(remote.get(path), content)

    def without_source(self, content):
        if isinstance(content, str):
            return commands_test.without_copies(content.replace(self.prefix, "").replace(f"{self.root}/", ""))
        return content.replace(self.prefix.encode(), b"").replace(f"{self.root}/".encode(), b"") if isinstance(content, bytes) else content


if __name__ == "__main__":
    while "--every" in sys.argv:
        at = sys.argv.index("--every")
        os.environ["RECORDFS_TEST_ONE_FILE_IN"] = sys.argv[at + 1]
        EVERY = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    while "--corpus" in sys.argv:
        at = sys.argv.index("--corpus")
        CORPORA.append(Path(sys.argv[at + 1]).resolve())
        os.environ["RECORDFS_TEST_CORPORA"] = ":".join(map(str, CORPORA))
        del sys.argv[at:at + 2]
    mounting.main()
