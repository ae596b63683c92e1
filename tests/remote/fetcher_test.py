#!/usr/bin/env python3
"""recordfs-fetch, driven over its socket: objects, versions, failures, redirects, and its end."""
import concurrent.futures
import os
import shutil
import ssl
import subprocess
import threading
import unittest
from pathlib import Path

import built
import faults
import fetcher
from fetcher_case import BLOCK, DATA, TIMEOUT, FetcherTest
from server import Answer, Rule, Server

# Faults of one response that a retry, or the rest of the object, repairs.
PASSING = ["reset_before_headers", "close_before_headers", "reset_in_body", "short_body", "stall_before_headers", "stall_in_body",
           "trickle", "request_timeout", "too_many_requests", "internal_error", "bad_gateway", "gateway_timeout", "slow_down",
           "wrong_start", "no_content_range", "malformed_content_range", "overflowing_total", "overlong_body",
           "overlong_body_until_close", "fewer_bytes", "garbage"]
# What is unusual and right.
HARMLESS = ["drop_after_answer", "only_last_modified", "no_validators", "weak_etag", "chunked", "http_1_0",
            "encoding_in_capitals", "lower_case_headers", "informational", "no_last_chunk", "whole_object"]
# Faults of all responses: code, errno and a part of the text.
PERMANENT = {
    "reset_before_headers": ("io", 110, "no success within 3 s"),
    "stall_in_body": ("io", 110, "sent nothing"),
    "retry_much_later": ("io", 110, "retry after 86400 s"),
    "forbidden": ("io", 13, "403"),
    "unauthorized": ("io", 13, "401"),
    "not_found": ("io", 2, "404"),
    "wrong_start": ("io", 5, "in place of 0-"),
    "no_content_range": ("io", 5, "Content-Range"),
    "overlong_body": ("io", 5, "more bytes"),
    "total_unknown": ("unsupported", 0, "does not tell the size"),
    "whole_object_of_unknown_length": ("unsupported", 0, "ignores range requests"),
    "endless_object": ("unsupported", 0, "larger than 64 MiB"),
    "endless_chunks": ("unsupported", 0, "ignores range requests"),
    "gzip_encoding": ("unsupported", 0, "Content-Encoding gzip"),
    "huge_headers": ("limit", 0, "too long"),
    "huge_header_line": ("limit", 0, "too long"),
    "garbage": ("io", 71, ""),
    "redirect_loop": ("io", 40, "too many redirects"),
    "redirect_to_file": ("unsupported", 0, "scheme"),
    "redirect_to_metadata": ("unsupported", 0, "169.254.169.254"),
    "redirect_to_other_scheme": ("unsupported", 0, "scheme"),
    "redirect_to_nonsense": ("io", 5, "redirect"),
}


class ObjectsTest(FetcherTest):
    def test_object_is_read_in_parts_of_one_version(self):
        fetching = self.start()
        opened = fetching.open(self.url)
        self.assertEqual((opened.failure, opened.size, opened.data), (None, len(DATA), DATA[:BLOCK]))
        self.assertTrue(opened.is_settled)
        self.assertNotIn(" ", opened.version)
        self.assert_read(fetching, opened, 1000, 2000)
        last = self.assert_read(fetching, opened, BLOCK, 8 << 20)
        self.assertEqual((last.requests, last.retries, last.bytes), (3, 0, len(DATA) + 2000))
        ranges = [request.range for request in self.server.requests]
        self.assertEqual(ranges, [f"bytes=0-{BLOCK - 1}", "bytes=1000-2999", f"bytes={BLOCK}-{len(DATA) - 1}"])
        self.assertEqual([("if-match" in request.headers) for request in self.server.requests], [False, True, True])
        self.assertTrue(all(request.headers["accept-encoding"] == "identity" for request in self.server.requests))

    def test_read_at_the_end_is_empty_and_after_it_invalid(self):
        fetching = self.start()
        opened = fetching.open(self.url)
        self.assertEqual(fetching.read(opened, len(DATA), 100).received, 0)
        self.assertEqual(fetching.read(opened, len(DATA) + 1, 100).os_error, 22)
        self.assertEqual(fetching.read(opened, (1 << 64) - 1, 100).os_error, 22)

    def test_empty_object_has_no_bytes(self):
        self.server.put("empty", b"")
        opened = self.start().open(f"{self.server.origin}/empty")
        self.assertEqual((opened.failure, opened.size, opened.received), (None, 0, 0))

    def test_object_is_empty_only_if_a_response_states_its_size(self):
        """A refused range alone does not show that there are no bytes."""
        self.server.put("empty", b"")
        for fault in (faults.unsatisfiable_without_total, faults.impossible_part):
            self.server.rules[:] = [Rule("/", fault)]
            opened = self.start().open(f"{self.server.origin}/empty")
            self.assertEqual((opened.failure, opened.size, opened.received), (None, 0, 0), fault)
            opened = self.start().open(self.url)
            self.assertEqual((opened.size, opened.received, opened.data), (len(DATA), BLOCK, DATA[:BLOCK]), fault)
        self.server.rules[:] = [Rule("/", faults.status(416))]
        self.assertEqual((self.start().open(self.url).failure is None), False)

    def test_object_is_opened_at_any_of_its_bytes(self):
        self.server.put("empty", b"")
        for rules in ([], [Rule("/", faults.whole_object)], [Rule("/", faults.weak_etag)], [Rule("/", faults.short_body, last=1)]):
            self.server.rules[:] = rules
            fetching = self.start()
            opened = fetching.open(self.url, begin=3 * BLOCK)
            self.assertEqual((opened.failure, opened.size, opened.data), (None, len(DATA), DATA[3 * BLOCK:4 * BLOCK]), rules)
            self.assert_read(fetching, opened, 0, len(DATA))
            opened = fetching.open(self.url, begin=len(DATA) - 1)
            self.assertEqual((opened.failure, opened.data), (None, DATA[-1:]), rules)
            for url, begin in ((self.url, len(DATA)), (self.url, 1 << 61), (f"{self.server.origin}/empty", 1)):
                self.server.take_log()
                self.assertEqual(fetching.open(url, begin=begin).failure, "changed", (rules, begin))
                self.assertEqual(len(self.server.take_log()), 1)
            self.assertEqual(fetching.open(self.url, begin=(1 << 64) - 1).os_error, 22)

    def test_closed_object_cannot_be_read(self):
        fetching = self.start()
        opened = fetching.open(self.url)
        fetching.send(fetcher.CLOSE, object=opened.object)
        self.assertEqual(fetching.read(opened, 0, 10).os_error, 9)

    def test_many_requests_at_a_time_all_succeed(self):
        fetching = self.start()
        opened = fetching.open(self.url)
        parts = [(number * 997 % len(DATA), 1 << 12, number << 12) for number in range(500)]
        ids = [fetching.send(fetcher.READ, object=opened.object, begin=begin, size=size, arena=arena) for begin, size, arena in parts]
        for request, (begin, size, arena) in zip(ids, parts):
            reply = fetching.receive(request, arena)
            self.assertEqual((reply.failure, reply.data), (None, DATA[begin:begin + size]))
        self.assertLessEqual(self.server.most_at_once, 16)

    def test_requests_to_many_hosts_at_a_time_all_succeed(self):
        servers = [self.serve() for _ in range(6)]
        fetching = self.start("--timeout=60")  # the servers share one interpreter
        opened = []
        for server in servers:
            server.put("x", DATA)
            opened.append(fetching.open(f"{server.origin}/x"))
        ids = [fetching.send(fetcher.READ, object=opened[number % 6].object, begin=number, size=100, arena=number << 10)
               for number in range(240)]
        for number, request in enumerate(ids):
            self.assertEqual(fetching.receive(request, number << 10).data, DATA[number:number + 100])

    def test_host_among_busy_ones_is_served_next(self):
        servers = sorted((self.serve() for _ in range(5)), key=lambda server: server.origin)
        *busy, late = servers
        answers = threading.Semaphore(0)  # that the busy servers may send

        def held(exchange):
            answers.acquire(timeout=built.PATIENCE)
            return exchange.answer
        fetching = self.start("--timeout=60")
        opened = []
        for server in servers:
            server.put("x", DATA)
        for server in busy:
            opened.append(fetching.open(f"{server.origin}/x"))
            server.take_log()
            server.rules = [Rule("/x$", held)]
        size = 1 << 20  # larger than what is repeated if there is no response
        reads = [fetching.send(fetcher.READ, object=opened[number % 4].object, begin=0, size=size) for number in range(80)]
        def active():
            return sum(len(server.requests) for server in busy)
        built.wait_for(lambda: active() == 64, "all requests that may be active")
        name = fetching.name(f"{late.origin}/x").text
        request = fetching.send(fetcher.OPEN, name=name, size=BLOCK)
        fetching.name(self.url)  # the fetcher has taken the request before
        answers.release()
        built.wait_for(lambda: late.requests or active() > 64, "the next request")
        self.assertEqual(len(late.requests), 1)
        answers.release(len(reads))
        self.assertEqual(fetching.receive(request).received, BLOCK)
        self.assertEqual({fetching.receive(read).received for read in reads}, {size})

    def test_status_reports_files_and_directories(self):
        (self.root / "dir").mkdir()
        fetching = self.start()
        status = fetching.status(self.url)
        self.assertEqual((status.failure, status.size, status.is_directory), (None, len(DATA), False))
        self.assertEqual(status.version, fetching.open(self.url).version)
        self.assertTrue(fetching.status(f"{self.server.origin}/dir").is_directory)
        self.assertTrue(fetching.status(f"{self.server.origin}/dir/").is_directory)
        self.assertEqual(fetching.status(f"{self.server.origin}/missing").os_error, 2)
        self.assertEqual(fetching.open(f"{self.server.origin}/dir").os_error, 21)

    def test_listing_longer_than_a_page_is_complete(self):
        names = [f"{number:06}-{'x' * 60}" for number in range(60_000)]
        rows = ",".join(f'{{"name":"{name}","type":"file","size":7}}' for name in names)
        self.server.rules = [Rule("/list/$", lambda _: Answer(200, {"Content-Type": "application/json"}, f"[{rows}]".encode()))]
        self.assertEqual(self.start().list(f"{self.server.origin}/list/"), [(name, 7) for name in names])
        self.assertEqual(len(self.server.requests), 1)

    def test_hostile_listings_are_errors(self):
        (self.root / "file").write_bytes(DATA)
        fetching = self.start()
        for fault in (faults.truncated_listing, faults.html_listing, faults.deep_listing, faults.endless_listing, faults.gzip_encoding,
                      faults.without_sizes):
            self.server.rules = [Rule("/$", fault)]
            reply = fetching.list(f"{self.server.origin}/")
            self.assertIn(reply.failure, ("damage", "unsupported", "limit"), (fault, reply))


class FailuresTest(FetcherTest):
    def check_all(self, cases, check):
        """Calls check(server, url, case) for all cases at a time, each with a server of its own."""
        def run(case):
            with Server(self.root) as server:
                server.put("x", DATA)
                check(server, f"{server.origin}/x", case)
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            results = {case: pool.submit(run, case) for case in cases}
        for case, result in results.items():
            with self.subTest(case=case):
                result.result()

    def read_all(self, fetching, url):
        opened = fetching.open(url)
        self.assertIsNone(opened.failure, opened.text)
        self.assertEqual(opened.data, DATA[:opened.received])
        self.assert_read(fetching, opened, BLOCK + 5, 3 * BLOCK)

    def test_passing_faults_are_retried(self):
        def check(server, url, case):
            fault, number = case
            server.rules = [Rule("/x$", getattr(faults, fault), first=number, last=number)]
            with fetcher.Fetcher("--timeout=15") as fetching:
                self.read_all(fetching, url)
            self.assertEqual(len(server.requests), 3)
        self.check_all([(fault, number) for fault in PASSING for number in (1, 2)], check)

    def test_harmless_responses_are_accepted(self):
        def check(server, url, fault):
            server.rules = [Rule("/x$", getattr(faults, fault))]
            with fetcher.Fetcher(TIMEOUT) as fetching:
                self.read_all(fetching, url)
        self.check_all(HARMLESS, check)

    def test_permanent_faults_have_their_errors(self):
        def check(server, url, fault):
            server.rules = [Rule("/x$", getattr(faults, fault))]
            with fetcher.Fetcher(TIMEOUT) as fetching:
                opened = fetching.open(url)
            self.assertEqual((opened.failure, opened.os_error), PERMANENT[fault][:2], opened.text)
            self.assertIn(PERMANENT[fault][2], opened.text)
        self.check_all(PERMANENT, check)

    def test_refused_connection_is_reported_and_recovers(self):
        fetching = self.start()
        opened = fetching.open(self.url)
        self.server.refuse()
        self.assertEqual(fetching.read(opened, 0, 10).failure, "io")
        self.server.listen()
        self.assert_read(fetching, opened, 5, 10)

    def test_unknown_host_is_reported(self):
        opened = self.start().open("http://no-such-host.invalid/x")
        self.assertEqual((opened.failure, opened.os_error), ("io", 113), opened.text)

    def test_changed_object_is_reported_and_never_mixed(self):
        for fault in ([], [Rule("/x$", faults.only_last_modified)], [Rule("/x$", faults.weak_etag)]):
            self.server.rules = fault
            self.server.put("x", DATA)
            fetching = self.start()
            opened = fetching.open(self.url)
            self.server.put("x", DATA[::-1])
            self.assertEqual(fetching.read(opened, 5, 10).failure, "changed")
            self.assertEqual(fetching.read(opened, BLOCK, BLOCK).failure, "changed")
            self.assertNotEqual(fetching.open(self.url).version, opened.version)

    def test_object_that_was_cut_is_changed(self):
        self.server.rules = [Rule("/x$", faults.no_validators)]
        fetching = self.start()
        opened = fetching.open(self.url)
        self.server.put("x", DATA[:100])
        self.assertEqual(fetching.read(opened, BLOCK, 10).failure, "changed")

    def test_whole_object_is_stored_if_the_server_sends_no_ranges(self):
        for cache in (None, self.cache):
            self.server.rules = [Rule("/x$", faults.whole_object)]
            self.server.take_log()
            fetching = self.start(cache=cache)
            opened = fetching.open(self.url)
            self.assertEqual((opened.failure, opened.size, opened.data), (None, len(DATA), DATA[:BLOCK]))
            self.assertIn("ignores range requests", opened.text)
            self.assert_read(fetching, opened, 1000, len(DATA))
            self.assertEqual(len(self.server.requests), 1)

    def test_cancelled_request_is_interrupted(self):
        self.server.rules = [Rule("/x$", faults.stall_before_headers)]
        fetching = self.start("--timeout=1000")
        waiting = fetching.send(fetcher.OPEN, name=fetching.name(self.url).text, size=100)
        built.wait_for(lambda: self.server.requests, "the request")
        fetching.send(fetcher.CANCEL, object=waiting)
        self.assertEqual(fetching.receive(waiting).failure, "interrupted")
        self.server.rules = []
        self.assertIsNone(fetching.open(self.url).failure)

    @staticmethod
    def slow(exchange):
        """Sends an answer within 5 s, which is longer than the timeout."""
        data = exchange.answer.data()
        exchange.connection.sendall(exchange.answer.head())
        for at in range(0, len(data), len(data) // 10 + 1):
            exchange.connection.sendall(data[at:at + len(data) // 10 + 1])
            exchange.server.wait(0.5)
        raise faults.Dropped

    def test_slow_transfer_that_goes_on_has_no_deadline(self):
        self.server.rules = [Rule("/x$", self.slow, first=2)]
        fetching = self.start()
        opened = fetching.open(self.url)
        self.assertEqual(self.assert_read(fetching, opened, 0, len(DATA)).retries, 0)

    def test_request_that_waits_for_those_of_other_hosts_has_no_deadline(self):
        busy = [self.serve() for _ in range(4)]
        fetching = self.start()
        reads = []
        for server in busy:
            server.put("x", DATA)
            opened = fetching.open(f"{server.origin}/x")
            server.rules = [Rule("/x$", self.slow)]
            reads += [fetching.send(fetcher.READ, object=opened.object, size=len(DATA)) for _ in range(16)]
        self.assertEqual(fetching.open(self.url).data, DATA[:BLOCK])
        self.assertEqual({fetching.receive(read).received for read in reads}, {len(DATA)})

    def test_small_request_without_a_response_is_repeated_on_another_connection(self):
        self.server.rules = [Rule("/x$", faults.stall_before_headers, first=2, last=2)]
        fetching = self.start("--timeout=1000")
        opened = fetching.open(self.url)
        self.assertEqual(self.assert_read(fetching, opened, 5, 1000).retries, 1)
        self.assertEqual([request.connection for request in self.server.requests], [1, 1, 2])
        waited = self.server.requests[2].begun - self.server.requests[1].begun
        self.assertLess(waited, 15)  # the limit for others is 20 s


class RedirectsTest(FetcherTest):
    def setUp(self):
        super().setUp()
        self.other = self.serve()
        self.other.put("x", DATA)

    def test_target_is_remembered_and_gets_no_credentials(self):
        self.server.rules = [Rule("/x$", faults.redirect_to(self.other))]
        fetching = self.start()
        opened = fetching.open(self.url.replace("://", "://user:secret@"))
        self.assertEqual((opened.failure, opened.data), (None, DATA[:BLOCK]))
        self.assert_read(fetching, opened, 5, 1000)
        self.assertEqual((len(self.server.requests), len(self.other.requests)), (1, 2))
        self.assertIn("authorization", self.server.requests[0].headers)
        self.assertFalse(any("authorization" in request.headers for request in self.other.requests))
        self.assertEqual(self.other.requests[1].range, "bytes=5-1004")

    def test_expired_target_is_resolved_again(self):
        self.server.rules = [Rule("/x$", faults.redirect_to(self.other))]
        self.other.rules = [Rule("/x$", faults.forbidden, first=2, last=2)]
        fetching = self.start()
        opened = fetching.open(self.url)
        self.assert_read(fetching, opened, 5, 1000)
        self.assertEqual((len(self.server.requests), len(self.other.requests)), (2, 3))

    def test_target_that_is_always_forbidden_is_an_error(self):
        self.server.rules = [Rule("/x$", faults.redirect_to(self.other))]
        self.other.rules = [Rule("/x$", faults.forbidden)]
        opened = self.start().open(self.url)
        self.assertEqual((opened.failure, opened.os_error), ("io", 13))
        self.assertLessEqual(len(self.other.requests), 2)

    def test_files_do_not_name_local_addresses_before_the_user_does(self):
        fetching = self.start()
        refused = fetching.open(f"{self.other.origin}/x", of_file=True)
        self.assertEqual((refused.failure, self.other.requests), ("unsupported", []))
        self.assertIsNone(fetching.open(self.url).failure)
        self.assertIsNone(fetching.open(f"{self.other.origin}/x", of_file=True).failure)

    def test_netrc_is_for_the_host_that_the_user_named(self):
        (self.folder / ".netrc").write_text("machine 127.0.0.1 login me password hidden\n", encoding="utf-8")
        self.server.rules = [Rule("/x$", faults.redirect_to(self.other))]
        fetching = self.start(environment={"HOME": str(self.folder)})
        self.assertIsNone(fetching.open(self.url).failure)
        self.assertIn("authorization", self.server.requests[0].headers)
        self.assertNotIn("authorization", self.other.requests[0].headers)

    def test_netrc_is_for_redirects_within_the_host_too(self):
        (self.folder / ".netrc").write_text("machine 127.0.0.1 login me password hidden\n", encoding="utf-8")
        self.server.rules = [Rule("/latest$", faults.redirect("/x"))]
        fetching = self.start(environment={"HOME": str(self.folder)})
        opened = fetching.open(f"{self.server.origin}/latest")
        self.assert_read(fetching, opened, 5, 1000)
        self.assertEqual(["authorization" in request.headers for request in self.server.requests], [True] * 3)

    def test_proxy_of_the_environment_is_used(self):
        fetching = self.start(environment={"http_proxy": self.other.origin, "no_proxy": "localhost"})
        fetching.open("http://host.invalid/x")
        self.assertEqual(self.other.requests[0].target, "http://host.invalid/x")
        self.assertIsNone(fetching.open(self.url.replace("127.0.0.1", "localhost")).failure)
        self.assertEqual(len(self.server.requests), 1)

    def test_secrets_are_in_no_text(self):
        fetching = self.start()
        self.server.rules = [Rule("/x", faults.forbidden)]
        url = self.url.replace("://", "://user:hidden1@") + "?X-Amz-Signature=hidden2hidden2hidden2&sig=hidden3"
        name = fetching.name(url)
        opened = fetching.open(url)
        self.assertEqual(opened.failure, "io")
        for text in (name.text, opened.text):
            self.assertNotIn("hidden", text)
        self.assertIn("hidden2", self.server.requests[0].target)


class ProcessTest(FetcherTest):
    def test_end_of_the_socket_ends_it_whatever_it_does(self):
        self.server.rules = [Rule("/x$", faults.stall_before_headers)]
        fetching = self.start("--timeout=1000")
        fetching.send(fetcher.OPEN, name=fetching.name(self.url).text, size=100)
        built.wait_for(lambda: self.server.requests, "the request")
        self.assertEqual(fetching.close(), 0)

    def test_packets_that_are_no_requests_end_it(self):
        for packet in (b"x", b"Q" + b"\xff" * 60, b"R" + bytes(60), bytes(40_000)):
            fetching = self.start()
            fetching.socket.send(packet)
            self.assertEqual(fetching.socket.recv(100), b"")
            self.assertEqual(fetching.close(), 0)

    def test_parts_outside_of_the_arena_are_refused(self):
        fetching = self.start()
        opened = fetching.open(self.url)
        for arena, size in ((fetcher.ARENA, 1), (fetcher.ARENA - 10, 11), (0, (8 << 20) + 1), (1 << 63, 1 << 63), ((1 << 64) - 1, 2)):
            reply = fetching.ask(fetcher.READ, object=opened.object, begin=0, size=size, arena=arena)
            self.assertEqual((reply.failure, reply.os_error), ("io", 22), (arena, size))
        self.assertEqual(fetching.ask(fetcher.LIST, name=self.url, size=100).os_error, 22)
        self.assertEqual(fetching.ask(fetcher.OPEN, name=self.url, size=0).os_error, 22)

    def test_it_is_confined_and_keeps_no_files_of_its_client(self):
        with open(self.folder / "file", "w", encoding="utf-8") as file:
            os.set_inheritable(file.fileno(), True)
            fetching = self.start()
            fetching.name(self.url)
        links = [os.readlink(f"/proc/{fetching.pid}/fd/{number}") for number in os.listdir(f"/proc/{fetching.pid}/fd")]
        self.assertEqual([link for link in links if link.startswith(str(self.folder))], [])
        self.assertEqual([os.readlink(f"/proc/{fetching.pid}/fd/{number}") for number in range(3)], ["/dev/null"] * 3)
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{fetching.pid}/status").read_text(encoding="utf-8").splitlines())
        if status["NoNewPrivs"].strip() == "0":
            self.skipTest("a build with sanitizers is not confined")
        self.assertEqual((status["Seccomp"].strip(), int(status["CapEff"], 16)), ("2", 0))

    def test_started_by_hand_it_says_so(self):
        ended = subprocess.run([built.program("recordfs-fetch")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (1, "recordfs-fetch: started by recordfs, not by hand\n"))
        ended = subprocess.run([built.program("recordfs-fetch"), "--what"], capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (1, "recordfs-fetch: invalid argument: --what\n"))


@unittest.skipUnless(shutil.which("openssl"), "openssl is missing")
class TlsTest(FetcherTest):
    def setUp(self):
        super().setUp()
        self.certificate = self.folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.folder / "key.pem", "-out",
                        self.certificate, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.folder / "key.pem")
        self.secure = self.serve(tls=context)
        self.secure.put("x", DATA)

    def test_certificate_of_the_user_is_trusted(self):
        for variable in ("SSL_CERT_FILE", "AWS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            fetching = self.start(environment={variable: str(self.certificate)})
            opened = fetching.open(f"https://localhost:{self.secure.port}/x")
            self.assertEqual((opened.failure, opened.data), (None, DATA[:BLOCK]), opened.text)
            self.assert_read(fetching, opened, 100, 1000)

    def test_unknown_certificate_is_refused_at_once(self):
        opened = self.start().open(f"https://localhost:{self.secure.port}/x")
        self.assertEqual((opened.failure, opened.retries, self.secure.requests), ("io", 0, []))
        self.assertIn("certificate", opened.text)

    def test_other_host_is_refused(self):
        opened = self.start(environment={"SSL_CERT_FILE": str(self.certificate)}).open(f"https://127.0.0.1:{self.secure.port}/x")
        self.assertEqual((opened.failure, self.secure.requests), ("io", []))

    def test_redirect_to_http_is_refused(self):
        self.secure.rules = [Rule("/x$", faults.redirect_to(self.server))]
        opened = self.start(environment={"SSL_CERT_FILE": str(self.certificate)}).open(f"https://localhost:{self.secure.port}/x")
        self.assertEqual((opened.failure, self.server.requests), ("unsupported", []))


if __name__ == "__main__":
    built.main()
