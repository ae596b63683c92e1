#!/usr/bin/env python3
"""Debian's swift, through its S3 interface, which verifies signatures: answers are those for local files. By hand:

    apt install --no-install-recommends swift-proxy swift-account swift-container swift-object python3-swift memcached python3-botocore
    swift.py --bin FOLDER --root CHECKOUT [unittest's options]

Four servers are started with one copy of each object, in a new folder whose filesystem must have extended attributes.
"""
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import built
import commands_test
import nginx_test
import remoting
import signatures
import stored_samples

KEY, SECRET = "test:tester", "testing"
STORAGE = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = root
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
fallocate_reserve = 0
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
PROXY = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = root
swift_dir = {folder}
[pipeline:main]
pipeline = catch_errors gatekeeper proxy-logging cache s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:proxy-logging]
use = egg:swift#proxy_logging
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{cache}
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[filter:s3api]
use = egg:swift#s3api
location = eu-test-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
"""


class Cloud:
    """A running swift."""

    def __init__(self, folder):
        self.folder, self.running = folder, []
        (folder / "devices/d1").mkdir(parents=True)
        (folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n"
                                           "[storage-policy:0]\nname = gold\ndefault = yes\n", encoding="utf-8")
        for kind in ("account", "container", "object"):
            port = nginx_test.free_port()
            ring = folder / f"{kind}.builder"
            for words in (("create", "6", "1", "0"), ("add", f"r1z1-127.0.0.1:{port}/d1", "1"), ("rebalance",)):
                subprocess.run(["swift-ring-builder", ring, *words], check=True, capture_output=True)
            self.start(kind, STORAGE.format(port=port, folder=folder, kind=kind), port)
        cache, self.port = nginx_test.free_port(), nginx_test.free_port()
        self.running.append(subprocess.Popen(["memcached", "-l", "127.0.0.1", "-p", str(cache), "-u", "root"]))
        self.start("proxy", PROXY.format(port=self.port, folder=folder, cache=cache), self.port)

    def start(self, kind, text, port):
        conf = self.folder / f"{kind}-server.conf"
        conf.write_text(text, encoding="utf-8")
        with open(self.folder / f"{kind}.log", "wb") as log:
            self.running.append(subprocess.Popen([f"swift-{kind}-server", conf, "-v"], stdout=log, stderr=log))
        built.wait_for(lambda: self.answers(port), f"swift-{kind}-server", 60)

    @staticmethod
    def answers(port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            connection.request("GET", "/healthcheck")
            connection.getresponse().read()
            return True
        except OSError:
            return False
        finally:
            connection.close()

    def put(self, path, data=b""):
        """Stores an object, or makes a bucket."""
        import botocore.auth  # pylint: disable=import-outside-toplevel
        import botocore.awsrequest  # pylint: disable=import-outside-toplevel
        import botocore.credentials  # pylint: disable=import-outside-toplevel

        request = botocore.awsrequest.AWSRequest("PUT", f"http://127.0.0.1:{self.port}/{quote(path)}", data=data)
        botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(KEY, SECRET), "s3", "eu-test-1").add_auth(request)
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("PUT", f"/{quote(path)}", data, dict(request.headers.items()))
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (answer.status, body)
        connection.close()

    def stop(self):
        for process in self.running:
            process.terminate()
            process.wait()


class Case(commands_test.Case):
    prefix = "s3://corpus/"

    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp(prefix="recordfs-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.cloud = Cloud(cls.place)
        cls.addClassCleanup(cls.cloud.stop)
        cls.cloud.put("corpus")

    def environment(self, *_):
        return remoting.environment(self.folder) | {"AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{self.cloud.port}", "AWS_ACCESS_KEY_ID": KEY,
                                                    "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "eu-test-1"}

    def put(self, name, data):
        self.cloud.put(f"corpus/{name}", data)


class Samples(stored_samples.Tests, Case):
    def test_names_that_signatures_encode(self):
        data = built.sample("riegeli/simple_zstd9.riegeli").read_bytes()
        expected = self.answer(["cat", built.sample("riegeli/simple_zstd9.riegeli"), "7"])
        for name in ("with space.riegeli", "dt=2024-01-01/part=0.riegeli", "a+b&c.riegeli", "sch\u00f6n \u2603.riegeli", "100%25.riegeli",
                     "co:lon,;.riegeli",
                     "tilde~_-.riegeli", "at@home.riegeli", "(p)'q'!.riegeli", "h#ash.riegeli", "double//slash.riegeli"):
            with self.subTest(name=name):
                self.put(name, data)
                self.assertEqual(self.answer(["cat", self.url(name), "7"]), expected)

    def test_empty_and_missing_objects(self):
        self.put("empty.tfrecord", b"")
        self.assertIn('"size":0,', self.answer(["info", "--json", self.url("empty.tfrecord")]).out.decode())
        done = self.answer(["info", self.url("nothing.tfrecord")])
        self.assertEqual(done.status, 2)
        self.assertRegex(done.err, "no such key")
        done = self.answer(["info", "s3://nothing-here/x.tfrecord"])
        self.assertRegex(done.err, "no such bucket|denied")

    def test_wrong_keys_are_refused(self):
        self.put("a.tfrecord", b"")
        for more in ({"AWS_SECRET_ACCESS_KEY": "wrong"}, {"AWS_ACCESS_KEY_ID": "nobody:x"}):
            done = remoting.run(["info", self.url("a.tfrecord")], self.environment() | more)
            self.assertEqual((done.status, done.out), (2, b""))
            self.assertRegex(done.err, r"SignatureDoesNotMatch|InvalidAccessKeyId|denied")
            self.assertNotIn("wrong", done.err.replace("is wrong", "").replace("are wrong", ""))

    def test_other_region_is_learned(self):
        path = self.root / "riegeli/simple_zstd9.riegeli"
        self.put("region.riegeli", path.read_bytes())
        done = remoting.run(["cat", self.url("region.riegeli"), "7"], self.environment() | {"AWS_REGION": "us-west-2"})
        self.assertEqual(done, self.answer(["cat", path, "7"]))


if __name__ == "__main__":
    if shutil.which("swift-proxy-server") is None or not signatures.is_available():
        print("SKIPPED: swift or botocore is not installed (see --help)" if "--help" not in sys.argv else __doc__)
        sys.exit(77)
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    unittest.main(module="__main__", argv=[sys.argv[0], *built.parse_places()], verbosity=2)
