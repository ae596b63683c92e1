#!/usr/bin/env python3
"""Keys, tokens, passwords and signed queries are in no command line, output, file name or file, and in no other process."""
import os
import shutil
import signal
import time
from pathlib import Path

import built
import mounting
import remoting
from hostile import is_sanitized
from server import Answer, Rule

SAMPLE = "riegeli/multiblock_zstd.riegeli"
PASSWORD, HF_TOKEN, SIGNED = "passW0rdOfTheUser", "hf_FakeTokenForTests0123456789", "deadbeefSignedQuery0123456789abcdef"
SECURITY_TOKEN, OF_PROXY = "olderNameOfASessionToken0123", "passW0rdOfTheProxy"
SECRETS = [remoting.SECRET, remoting.TOKEN, PASSWORD, HF_TOKEN, SIGNED, SECURITY_TOKEN, OF_PROXY]


def has_secret(data):
    """Returns the secrets in bytes, also in the form that a URL has."""
    found = [secret for secret in SECRETS if secret.encode() in data]
    return found + [secret for secret in SECRETS if secret.replace("/", "%2F").replace("+", "%2B").replace("=", "%3D").encode() in data]


def processes_with(folder):
    """Returns the entries in /proc of all processes whose environment names a folder of this test, or which are fetchers."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                is_ours = os.fsencode(folder) in (entry / "environ").read_bytes() or b"recordfs" in (entry / "cmdline").read_bytes().split(b"\0")[0]
            except OSError:
                continue
            if is_ours:
                found.append(entry)
    return found


class Case(remoting.Served, mounting.Case):
    def setUp(self):
        super().setUp()
        self.started = self.serve(built.corpus())
        self.serve_s3(built.corpus().parent)

    def environment(self, *_):
        proxies = {name: f"http://me:{OF_PROXY}@127.0.0.1:1" for name in ("https_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")}
        return super().environment() | proxies | {"HF_TOKEN": HF_TOKEN, "AWS_SECURITY_TOKEN": SECURITY_TOKEN, "no_proxy": "127.0.0.1"}

    def urls(self):
        """Returns URLs with secrets, and without them: of S3, with userinfo, and with a signed query."""
        http = self.started.url(SAMPLE)
        return [f"s3://corpus/{SAMPLE}", http.replace("http://", f"http://me:{PASSWORD}@"),
                f"{http}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA&X-Amz-Signature={SIGNED}"]

    def assert_clean_files(self):
        for path in self.folder.rglob("*"):
            self.assertEqual(has_secret(os.fsencode(path)), [], path)
            if path.is_file() and not os.path.ismount(path.parent) and not str(path).startswith(f"{self.folder}/mnt"):
                self.assertEqual(has_secret(path.read_bytes()), [], path)


class Outputs(Case):
    def test_commands_print_no_secret(self):
        for url in self.urls():
            for words in (["info"], ["info", "--json", "--scan"], ["verify", "--json"], ["ls"], ["splits"], ["head", "--json"], ["index"], ["cat", "-v"],
                          ["info", "-v"], ["report", "-o", self.folder / "page.html"]):
                done = remoting.run([*words, url], self.environment())
                self.assertEqual(has_secret(done.out + done.err.encode()), [], (words, done))
        self.assertGreater(len(self.started.requests), 5)
        self.assert_clean_files()

    def test_secrets_that_a_server_repeats_are_not_shown(self):
        def redirect_to(target):
            return lambda exchange: Answer(302, {"Location": target})
        def encoding(exchange):
            exchange.answer.headers["Content-Encoding"] = SIGNED
            return exchange.answer
        for fault in (redirect_to(f"http://{SIGNED}.invalid/"), redirect_to(f"{SIGNED}://x/"), redirect_to(f"http://{PASSWORD}.invalid/"), encoding):
            self.started.rules[:] = [Rule("multiblock", fault)]
            for url in self.urls()[1:]:
                done = remoting.run(["info", "--timeout", "3", url], self.environment())
                self.assertEqual((done.status, done.out), (2, b""))
                self.assertEqual([secret for secret in (PASSWORD, SIGNED) if secret in url and secret.lower() in done.err.lower()], [], done)

    def test_errors_have_no_secret(self):
        for url in self.urls():
            for bad in (url.replace("multiblock", "nothing"), url.replace("riegeli/", "riegeli.expect/")):
                for words in (["info"], ["cat"], ["verify"], ["keys"]):
                    done = remoting.run([*words, bad], self.environment())
                    self.assertNotEqual(done.status, 0)
                    self.assertTrue(done.err)
                    self.assertEqual(has_secret(done.out + done.err.encode()), [], (words, done))
        self.started.refuse()
        for url in self.urls()[1:]:
            done = remoting.run(["info", "--timeout", "1", url.replace("multiblock", "simple")], self.environment())
            self.assertNotEqual(done.status, 0)
            self.assertEqual(has_secret(done.out + done.err.encode()), [], done)

    def test_urls_that_differ_in_userinfo_alone_are_refused_together(self):
        url = self.started.url(SAMPLE)
        both = [url.replace("http://", f"http://{name}:{PASSWORD}@") for name in ("one", "other")]
        done = remoting.run(["grep", "-c", "", *both], self.environment())
        self.assertNotIn(done.status, (0, 1))
        self.assertIn("userinfo", done.err)
        self.assertEqual(has_secret(done.err.encode()), [])

    def test_malformed_urls_are_reported_without_their_secrets(self):
        for url in (f"http://me:{PASSWORD}@", f"http://me:{PASSWORD}@[::1/x", f"https://me:{PASSWORD}@host:port/x",
                    f"s3://?sig={SIGNED}", f"http://host/\n{SIGNED}?token={SIGNED}"):
            done = remoting.run(["info", "--timeout", "1", url], self.environment())
            self.assertNotIn(done.status, (0, 1), url)
            self.assertNotIn(PASSWORD, done.err, url)


class Processes(Case):
    def test_mount_shows_no_secret(self):
        for number, url in enumerate(self.urls()):
            mounted = self.mount(url, flags=("-f", "-v"), options=[f"metrics={self.folder}/metrics{number}"])
            self.assertEqual(len(os.listdir(mounted / "records")), 1250)
            for name in ("info.json", "index/summary.json", "index/chunks.tsv"):
                self.assertEqual(has_secret((mounted / name).read_bytes()), [], name)
            self.assertEqual(has_secret(Path("/proc/self/mountinfo").read_bytes()), [])
            self.assert_no_process_shows()
            self.assertEqual(mounted.unmount(), 0)
            self.assertEqual(has_secret(mounted.log().encode()), [])
        self.assert_clean_files()

    def test_mount_of_a_url_without_a_path_sends_its_password_to_its_host_only(self):
        (self.folder / "root").mkdir()
        shutil.copyfile(built.sample("tfrecord/small.tfrecord"), self.folder / "root" / "1")
        server = self.serve(self.folder / "root")
        mounted = self.mount(server.origin.replace("://", f"://me:{PASSWORD}@"))
        self.assertEqual(os.listdir(mounted.point), ["1"])
        self.assertTrue(os.listdir(mounted / "1" / "records"))
        self.assertTrue(all("authorization" in request.headers for request in server.take_log()))

    def assert_no_process_shows(self):
        found = processes_with(self.folder)
        self.assertGreater(len(found), 1)
        for entry in found:
            self.assertEqual(has_secret((entry / "cmdline").read_bytes()), [], entry)

    def test_daemon_has_no_secret_in_its_environment(self):
        """The fetcher alone has them, and other processes of the user cannot read its memory."""
        mounted = self.mount(self.urls()[0])
        self.assertEqual(has_secret(Path(f"/proc/{mounted.daemon.pid}/environ").read_bytes()), [])
        fetchers = remoting.fetchers()
        self.assertEqual(len(fetchers), 1)
        self.assertEqual(has_secret(Path(f"/proc/{fetchers[0]}/cmdline").read_bytes()), [])

    def test_memory_of_the_daemon_has_no_secret(self):
        if is_sanitized():
            self.skipTest("sanitizers keep a copy of the environment")
        mounted = self.mount(self.urls()[0])
        os.listdir(mounted / "records")
        found = set()
        with open(f"/proc/{mounted.daemon.pid}/maps", encoding="utf-8") as maps, open(f"/proc/{mounted.daemon.pid}/mem", "rb", buffering=0) as memory:
            for row in maps:
                begin, end = (int(word, 16) for word in row.split()[0].split("-"))
                if row.split()[1].startswith("rw") and end - begin < 1 << 28:
                    try:
                        memory.seek(begin)
                        found.update(has_secret(memory.read(end - begin)))
                    except (OSError, ValueError):
                        pass
        self.assertEqual(found, set())

    def test_fetcher_dumps_no_core(self):
        mounted = self.mount(self.urls()[0])
        fetcher = remoting.fetchers()[0]
        os.kill(fetcher, signal.SIGSEGV)
        built.wait_for(lambda: fetcher not in remoting.fetchers(), "the fetcher's end")
        time.sleep(0.1)
        self.assertFalse([path for folder in ("/", self.folder, Path.cwd()) for path in Path(folder).glob("core*") if path.is_file()
                          and has_secret(path.read_bytes())])
        self.assertTrue(mounted.is_mounted())

    @mounting.only_root
    def test_other_processes_of_the_user_cannot_trace_the_fetcher(self):
        mounted = self.mount_as_user()
        fetcher = remoting.fetchers()[0]
        done = mounting.run("cat", f"/proc/{fetcher}/environ", user=mounting.NOBODY)
        self.assertNotEqual(done.returncode, 0, "the environment of a process that cannot be dumped belongs to root")
        self.assertTrue(mounted.is_mounted())

    def mount_as_user(self):
        for name in ("home", "caches"):
            (self.folder / name).mkdir(exist_ok=True)
            shutil.chown(self.folder / name, mounting.NOBODY, mounting.NOBODY)
        point = self.new_point(mounting.NOBODY)
        mounted = mounting.Mount([self.urls()[0]], point, self.folder / "log-user", user=mounting.NOBODY, environment=self.environment())
        self.addCleanup(self._end, mounted)
        return mounted


if __name__ == "__main__":
    mounting.main()
