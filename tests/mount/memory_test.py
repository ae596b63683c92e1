#!/usr/bin/env python3
"""A mount that is short of memory: a request fails with ENOMEM or is answered correctly, and later ones are answered."""
import errno
import os
import shutil
import stat
import struct

import built
import mounting

ONE_IN = [20, 50, 100, 300, 1000]  # allocations that fail
MOST_NAMES = 40  # of a directory
MOST_BYTES = 256 << 10  # of a file
DEEPEST = 5
ATTEMPTS = 50


class ShortOfMemory(mounting.Case):
    def setUp(self):
        super().setUp()
        self.failed = 0
        self.switch = self.folder / "one-in-fails"
        self.switch.write_bytes(bytes(8))
        self.source = self.folder / "source"
        for folder in built.sample("").iterdir():
            samples = [path for path in folder.iterdir() if path.is_file() and self.has_records(path)]
            if samples:
                self.source.mkdir(exist_ok=True)
                shutil.copy(min(samples, key=lambda path: path.stat().st_size), self.source)
        for name in ["leveldb-log-only", "rocksdb7-blobs"]:
            shutil.copytree(built.sample(f"database/{name}"), self.source / name)

    @staticmethod
    def has_records(path):
        sample = path.relative_to(built.sample(""))
        if not path.with_name(path.name + built.EXPECTATION).exists():
            return False
        return built.expectation(sample).get("num_records", 0) >= 5

    def environment(self, user=None):
        return dict(super().environment(user), LD_PRELOAD=mounting.program("short_of_memory.so"),
                    RECORDFS_ONE_IN_FAILS=str(self.switch))

    def fail_one_in(self, number):
        with open(self.switch, "r+b", buffering=0) as file:
            file.write(struct.pack("=Q", number))

    def ask(self, action, *arguments):
        """Repeats the action until it has enough memory. Returns what it returns, or the name of its error."""
        for _ in range(ATTEMPTS):
            try:
                return action(*arguments)
            except OSError as error:
                if error.errno != errno.ENOMEM:
                    return errno.errorcode[error.errno]
                self.failed += 1
        return "ENOMEM"

    @staticmethod
    def read(path):
        with open(path, "rb") as file:
            return file.read(MOST_BYTES)

    def answers(self, mounted):
        """Returns what the mount shows, by path."""
        found = {}
        left = [""]
        while left:
            name = left.pop()
            path = os.path.join(mounted.point, name)
            status = self.ask(os.lstat, path)
            found[name, "status"] = status if isinstance(status, str) else (status.st_mode, status.st_size, status.st_ino)
            mode = 0 if isinstance(status, str) else status.st_mode
            if stat.S_ISLNK(mode):
                found[name, "content"] = self.ask(os.readlink, path)
            elif stat.S_ISREG(mode):
                found[name, "content"] = self.ask(self.read, path)
            elif stat.S_ISDIR(mode):
                names = self.ask(os.listdir, path)
                found[name, "content"] = names
                if isinstance(names, list) and name.count("/") < DEEPEST:
                    left += [os.path.join(name, one) for one in names[:MOST_NAMES]]
        return found

    def test_requests_fail_or_are_answered_and_later_ones_are_answered(self):
        truth = self.answers(self.mount(self.source))
        self.assertGreater(len(truth), 1000)
        for one_in in ONE_IN:
            with self.subTest(one_in=one_in):
                mounted = self.mount(self.source)
                os.listdir(mounted.point)  # from here on it serves requests
                self.failed = 0
                self.fail_one_in(one_in)
                answers = self.answers(mounted)
                self.fail_one_in(0)
                self.assertGreater(self.failed, 0)
                for name, answer in answers.items():
                    if answer != "ENOMEM":
                        self.assertEqual(answer, truth.get(name), name)
                mounting.drop_nodes(mounted.point)
                self.assertEqual(self.answers(mounted), truth)
                self.assertEqual(mounted.unmount(), 0, mounted.log())


if __name__ == "__main__":
    mounting.main()
