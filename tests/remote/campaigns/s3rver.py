#!/usr/bin/env python3
"""npm's s3rver, which answers some requests wrongly: no answer of recordfs is wrong. By hand:

    npm install s3rver
    s3rver.py --bin FOLDER --root CHECKOUT [--modules node_modules] [unittest's options]

s3rver 3.7.1 ignores If-Match, takes a range from 0 to 0 for all bytes, and the last N bytes for the first.
"""
import http.client
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import built
import commands_test
import remoting
import stored_samples

MODULES = Path("node_modules")


class Case(commands_test.Case):
    def setUp(self):
        super().setUp()
        data = self.folder / "data"
        data.mkdir()
        self.running = subprocess.Popen(["node", MODULES / ".bin" / "s3rver", "-d", data, "-a", "127.0.0.1", "-p", "0",
                                         "--no-vhost-buckets",
                                         "--configure-bucket", "corpus"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.end)
        self.port = None
        for line in self.running.stdout:
            if found := re.search(r"127\.0\.0\.1:(\d+)|port (\d+)", line):
                self.port = int(found[1] or found[2])
                break
        self.assertIsNotNone(self.port)
        self.prefix = "s3://corpus/"

    def end(self):
        self.running.terminate()
        self.running.communicate()

    def environment(self, *_):
        return remoting.environment(self.folder) | {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.port}", "AWS_ACCESS_KEY_ID": "S3RVER",
                                                    "AWS_SECRET_ACCESS_KEY": "S3RVER", "AWS_REGION": "us-east-1"}

    def put(self, name, data):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("PUT", f"/corpus/{quote(name)}", data)
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200, answer.read())
        connection.close()


class Samples(stored_samples.Tests, Case):
    def test_file_of_several_blocks(self):
        path = remoting.make("tfrecord", 40_000, self.folder / "large.tfrecord")
        self.put("large.tfrecord", path.read_bytes())
        self.root = self.folder
        for words in (["cat", "FILE"], ["cat", "FILE", "39999"], ["verify", "--json", "FILE"], ["cp", "--raw"]):
            if words[0] == "cp":
                done = self.answer(["cp", "--raw", self.url("large.tfrecord"), ":", str(self.folder / "copies")])
                self.assertEqual((done.status, done.err), (0, ""))
                self.assertEqual((self.folder / "copies/large.tfrecord").read_bytes(), path.read_bytes())
            else:
                self.assert_same(*words, files=["large.tfrecord"])

    def test_empty_and_missing_objects(self):
        self.put("empty.tfrecord", b"")
        done = self.answer(["info", "--json", self.url("empty.tfrecord")])
        self.assertIn('"size":0,', done.out.decode())
        done = self.answer(["info", self.url("nothing.tfrecord")])
        self.assertEqual(done.status, 2)
        self.assertRegex(done.err, "no such key")


if __name__ == "__main__":
    if "--modules" in sys.argv:
        at = sys.argv.index("--modules")
        MODULES = Path(sys.argv[at + 1]).resolve()
        del sys.argv[at:at + 2]
    if not (MODULES / "s3rver").is_dir():
        print("SKIPPED: s3rver is not installed (try: npm install s3rver)")
        sys.exit(77)
    os.environ.setdefault("NODE_ENV", "production")
    unittest.main(module="__main__", argv=[sys.argv[0], *built.parse_places()], verbosity=2)
