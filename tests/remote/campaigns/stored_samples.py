"""The tests of files in the bucket of a server that speaks S3's protocol, whichever server it is."""
import subprocess

import built
import commands_test
import remoting


class Tests:
    """For a commands_test.Case with a function put(name, bytes), which stores an object."""

    def test_samples_are_read_as_their_local_copies(self):
        names = commands_test.containers()[::8]
        for name in names:
            self.put(name, (self.root / name).read_bytes())
        for words in (["info", "--json"], ["verify", "--json"], ["cat", "--delimited"], ["ls"]):
            for name in names:
                with self.subTest(name=name, words=words):
                    self.assert_same(*words, files=[name])

    def test_directories_are_listed(self):
        for path in (self.root / "database/leveldb-levels").iterdir():
            self.put(f"database/leveldb-levels/{path.name}", path.read_bytes())
        self.assert_same("keys", files=["database/leveldb-levels/"])

    def test_object_that_is_replaced_is_reported(self):
        path = remoting.make("tfrecord", 60_000, self.folder / "changing.tfrecord")
        data = path.read_bytes()
        self.put("changing.tfrecord", data)
        with subprocess.Popen([built.program("recordfs"), "cat", "--no-cache", self.url("changing.tfrecord")], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, bufsize=0, env=self.environment()) as running:
            begun = running.stdout.read(10)
            self.put("changing.tfrecord", data[::-1])
            out, err = running.communicate(timeout=remoting.HANGS)
        right = self.answer(["cat", path]).out
        self.assertTrue(right.startswith(begun + out))
        self.assertTrue(begun + out == right or (running.returncode != 0 and b"changed" in err), err)
