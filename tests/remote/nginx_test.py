#!/usr/bin/env python3
"""Files that nginx serves: ranges, conditions, listings in JSON, TLS with an own certificate authority, and HTTP/2."""
import os
import shutil
import socket
import subprocess
import sys
import time

import built
import commands_test
import mounting
import remoting
from tfrecords import tfrecord

SKIPPED = 77
CONFIGURATION = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  log_format combined_ranges '$server_protocol $status $body_bytes_sent "$http_range" $request_uri';
  access_log {folder}/access.log combined_ranges;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  types {{ application/octet-stream bin; }}
  autoindex on; autoindex_format json; gzip on; gzip_types *;
  server {{ listen 127.0.0.1:{plain}; root {root}; }}
  server {{ listen 127.0.0.1:{tls} ssl http2; listen 127.0.0.2:{tls} ssl http2; root {root}; ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key; }}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificates(folder):
    """Creates an authority, ca.pem, and a certificate of localhost and 127.0.0.1 that it has signed."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=tests", "-days", "3650")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n", encoding="utf-8")
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem", "-days",
            "3650",
            "-extfile", "names")


class Case(commands_test.Case):
    def setUp(self):
        super().setUp()
        make_certificates(self.folder)
        self.start()

    def start(self):
        if not hasattr(self, "tls"):
            self.plain, self.tls = free_port(), free_port()
        text = CONFIGURATION.format(folder=self.folder, root=self.root, plain=self.plain, tls=self.tls)
        (self.folder / "nginx.conf").write_text(text, encoding="utf-8")
        self.nginx = subprocess.Popen(["nginx", "-c", self.folder / "nginx.conf", "-e", self.folder / "error.log"],
                                      stderr=subprocess.DEVNULL)
        self.addCleanup(self.end)
        built.wait_for(self.answers, "nginx", 20)
        self.prefix = f"http://127.0.0.1:{self.plain}/"

    def end(self):
        self.nginx.terminate()
        self.nginx.wait(built.PATIENCE)

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.tls)) == 0

    def environment(self, *_):
        return super().environment() | {"SSL_CERT_FILE": str(self.folder / "ca.pem")}

    def log(self):
        return (self.folder / "access.log").read_text(encoding="utf-8")


class Plain(Case):
    def test_samples_are_read_as_their_local_copies(self):
        names = commands_test.containers()[::5]
        self.assert_same("verify", "--json", files=names)
        self.assert_same("info", "--json", files=names)

    def test_directories_are_listed(self):
        self.assert_same("keys", files=["database/leveldb-levels/"])
        self.assert_same("info", files=["riegeli/simple_z*.riegeli"])

    def test_directory_is_mounted(self):
        point = self.folder / "mnt"
        point.mkdir()
        mounted = mounting.Mount([self.url("riegeli/")], point, self.folder / "mount.log", environment=self.environment())
        self.addCleanup(mounted.abandon)
        self.assertEqual(sorted(os.listdir(point)), sorted(os.listdir(self.root / "riegeli")))
        expected = self.answer(["cat", self.root / "riegeli/simple_zstd9.riegeli", "7"]).out
        self.assertEqual((point / "simple_zstd9.riegeli/records/7").read_bytes(), expected)
        for name in ("small/shop_log.riegeli", "simple_snappy.riegeli"):
            self.assertEqual((point / name).stat().st_mtime, int((self.root / "riegeli" / name).stat().st_mtime), name)
        self.assertEqual(mounted.unmount(), 0, mounted.log())

    def test_missing_file(self):
        done = self.answer(["info", self.url("nothing.riegeli")])
        self.assertEqual(done.status, 2)
        self.assertRegex(done.err, "not found")


class Tls(Plain):
    def start(self):
        super().start()
        self.prefix = f"https://localhost:{self.tls}/"

    def test_http_2_is_used(self):
        self.assert_same("cat", files=["riegeli/multiblock_zstd.riegeli"])
        built.wait_for(self.log, "the log")
        self.assertEqual({row.split()[0] for row in self.log().splitlines()}, {"HTTP/2.0"})

    def assert_refused(self, message, url, **more):
        done = remoting.run(["info", "--timeout", "2", url], self.environment() | more)
        self.assertNotIn(done.status, (0, 1))
        self.assertEqual(done.out, b"")
        self.assertRegex(done.err, message)

    def test_certificate_of_an_unknown_authority_is_refused(self):
        self.assert_refused(r"[Cc]ertificate|SSL|TLS", self.url("riegeli/simple_zstd9.riegeli"),
                            SSL_CERT_FILE="/etc/ssl/certs/ca-certificates.crt")

    def test_certificate_of_another_host_is_refused(self):
        self.assert_refused(r"[Cc]ertificate|SSL|TLS|name", f"https://127.0.0.2:{self.tls}/x")

    def test_port_without_tls_is_recognized(self):
        self.assert_refused(r"\(the server may have no TLS; try: http:// in place of https://\)\n\Z", f"https://localhost:{self.plain}/x")

    def test_variable_of_the_aws_command_line_names_the_authority(self):
        given = {name: value for name, value in self.environment().items() if name != "SSL_CERT_FILE"}
        done = remoting.run(["info", self.url("riegeli/simple_zstd9.riegeli")], given | {"AWS_CA_BUNDLE": str(self.folder / "ca.pem")})
        self.assertEqual((done.status, done.err), (0, ""))


class Changing(Case):
    def test_file_that_is_replaced_within_a_second_is_not_taken_from_the_cache(self):
        """nginx makes the ETag of the time, in seconds, and the size."""
        self.end()
        self.root = self.folder / "root"
        self.root.mkdir()
        target = self.root / "a.tfrecord"
        modified = int(time.time()) + 60  # is recent, however slow the machine is
        self.start()
        for byte in (b"a", b"b"):
            target.write_bytes(tfrecord([byte * 1000] * 2000))
            os.utime(target, (modified, modified))
            done = self.answer(["cat", self.url("a.tfrecord")])
            self.assertEqual((done.status, done.err), (0, ""))
            self.assertTrue(done.out == byte * 2_000_000, "bytes of the file before")

    def test_replaced_file_is_reported(self):
        """nginx knows If-Match."""
        self.end()
        self.root = self.folder / "root"
        self.root.mkdir()
        target = self.root / "a.tfrecord"
        remoting.make("tfrecord", 40000, target)
        os.utime(target, (1_700_000_000, 1_700_000_000))
        self.start()
        with subprocess.Popen([built.program("recordfs"), "cat", "--no-cache", self.url("a.tfrecord")], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.environment()) as running:
            begun = running.stdout.read(10)
            local = target.read_bytes()
            (self.root / "new").write_bytes(local[:100] + b"x" + local[101:])
            (self.root / "new").rename(target)
            time.sleep(0.2)
            out, err = running.communicate(timeout=remoting.HANGS)
        expected = remoting.run(["cat", self.folder / "root" / "a.tfrecord"], self.environment())
        self.assertNotEqual(expected.status, 0, "the file is damaged now")
        self.assertTrue(running.returncode == 0 or b"changed" in err, err)
        self.assertGreater(len(begun + out), 9)


if __name__ == "__main__":
    if shutil.which("nginx") is None and not os.access("/usr/sbin/nginx", os.X_OK):
        print("SKIPPED: nginx is not installed (Debian: nginx-light)")
        sys.exit(SKIPPED)
    os.environ["PATH"] += ":/usr/sbin"
    remoting.main()
