#!/usr/bin/env python3
"""Each fault of servers and networks, in commands and mounts: the right answer or the documented error, in time.

A fault never leads to a wrong byte, to a program that hangs, or to an empty answer with status 0.
"""
import errno
import os
import re
import subprocess
import time
from pathlib import Path

import built
import expectations
import faults
import mounting
import remoting
import server
from expectations import ALL, FIRST, GOOD, LATER
from tfrecords import tfrecord

RECORDS, SIZE = 600, 2500  # 1.5 MB: more than the first request reads
CANNOT_OPEN = 2
OPENING = 2                # requests of a mount before it is there: for the head and the tail of the file
MIDDLE = RECORDS // 2      # a record that is in neither
MOST = 16 << 20            # bytes of an endless answer that may be sent before the client has left
NETWORK_ERRORS = {errno.EIO, errno.ETIMEDOUT, errno.EACCES, errno.ENOENT, errno.ESTALE, errno.EOPNOTSUPP}


def line(number):
    return (f"{number:06} " + f"{number * 7919 % 1000003:07} " * (SIZE // 8)).encode()[:SIZE - 1]


class Case(remoting.Served, mounting.Case):
    """A case with a folder that is served: a TFRecord file, and a table of keys."""

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        self.root.mkdir()
        self.file = self.root / "lines.tfrecord"
        self.file.write_bytes(tfrecord(map(line, range(RECORDS))))
        self.table = remoting.make("leveldb_table-none", 8000, self.root / "000005.ldb")
        self.assertGreater(self.table.stat().st_size, 600_000)
        for path in (self.file, self.table):
            os.utime(path, (1_700_000_000, 1_700_000_000))

    def environment_of(self, name, **more):
        """Returns an environment whose caches no other run has."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return remoting.environment(folder, self.s3, **more)

    def commands(self):
        """Returns {name: (words before the file, file, words after it)}."""
        return {"info": (["info", "--json"], self.file, []), "cat": (["cat"], self.file, [str(RECORDS - 1)]),
                "grep": (["grep", "7919"], self.file, []), "keys": (["keys"], self.table, [])}

    def expected(self):
        """Returns {name of a command: its answer for the local file}."""
        local = self.environment_of("local")
        return {name: remoting.run([*before, file.name, *after], local, cwd=self.root)
                for name, (before, file, after) in self.commands().items()}

    def check(self, outcome, done, expected, url, what):
        """Checks a finished command against an outcome of expectations.py."""
        self.assertIsNone(built.COMPLAINT.search(done.err), (what, done.err))
        out = done.out.replace(url.encode(), Path(url).name.encode())
        if outcome == GOOD:
            self.assertEqual((done.status, done.err), (expected.status, expected.err), what)
            self.assertEqual(out, expected.out, what)
            return
        can_be_good, message = (True, outcome[1]) if isinstance(outcome, tuple) else (False, outcome)
        if can_be_good and done.status == expected.status and out == expected.out:
            return
        self.assertNotIn(done.status, (0, 1), (what, done.err))
        self.assertGreater(done.status, 0, (what, done.err))
        self.assertTrue(expected.out.startswith(out), (what, out[:200]))
        self.assertRegex(done.err, message, what)
        self.assertRegex(done.err, r"\A(recordfs: [^\n]+\n)+\Z", what)
        self.assertIn(Path(url).name, done.err, what)


class Commands(Case):
    def run_with(self, fault, when, name, expected):
        """Runs a command with a fault, and returns what is wrong; None: nothing."""
        before, file, after = self.commands()[name]
        what = (fault.__name__, when, name)
        with server.Server(self.root) as started:
            first, last = {FIRST: (1, 1), ALL: (1, None), LATER: (2, None)}[when]
            started.rules.append(server.Rule(re.escape(file.name), fault, first, last))
            given = self.environment_of("-".join(what))
            try:
                done = remoting.run([*before, "--timeout", str(remoting.DEADLINE), started.url(file), *after], given)
                was_injected = any(request.fault for request in started.requests)
                outcome = getattr(expectations.TABLE[fault], when) if was_injected else GOOD
                self.check(outcome, done, expected[name], started.url(file), what)
                self.assertEqual(started.problems, [], what)
                self.assertLess(max(request.sent for request in started.requests), MOST, what)
            except (AssertionError, subprocess.TimeoutExpired) as failed:
                return f"{what}: {str(failed)[:600]}\n  requests: {started.requests[:3]}"
        return None

    def test_each_fault_has_its_outcome(self):
        expected = self.expected()
        self.assertEqual({done.status for done in expected.values()}, {0})
        runs = [(fault, when, name) for fault in expectations.TABLE for when, name in
                [(FIRST, "info"), (ALL, "info"), (FIRST, "cat"), (LATER, "cat"), (LATER, "grep"), (ALL, "keys"), (LATER, "keys")]]
        wrong = remoting.in_parallel(lambda run: self.run_with(*run, expected), runs)
        wrong = [each for each in wrong if each]
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {len(runs)}:\n" + "\n".join(wrong))

    def test_refused_connection_is_reported(self):
        with server.Server(self.root) as started:
            started.refuse()
            for name, (before, file, after) in self.commands().items():
                done = remoting.run([*before, "--timeout", "1", started.url(file), *after], self.environment_of("refused"))
                self.check(r"refused|connect to", done, self.expected()[name], started.url(file), name)

    def test_unknown_host_is_reported(self):
        url = "http://no-such-host.invalid/lines.tfrecord"
        done = remoting.run(["info", "--timeout", "1", url], self.environment_of("unknown"))
        self.check(r"resolve|[Uu]nknown host|not known", done, self.expected()["info"], url, "host")

    def test_object_that_is_replaced_between_requests_is_reported(self):
        started = self.serve(self.root)
        def replace(exchange):
            exchange.server.put("lines.tfrecord", tfrecord(line(number + 1) for number in range(RECORDS)))
            return exchange.server.answer(exchange.request)
        started.rules.append(server.Rule("lines", replace, first=2, last=2))
        done = remoting.run(["grep", "7919", started.url(self.file)], self.environment_of("replaced"))
        self.check("changed", done, self.expected()["grep"], started.url(self.file), "replaced")

    def test_connection_that_ends_after_each_answer_costs_no_failure(self):
        started = self.serve(self.root)
        started.closes_after = 1
        expected = self.expected()
        for name, (before, file, after) in self.commands().items():
            done = remoting.run([*before, started.url(file), *after], self.environment_of(f"closing-{name}"))
            self.check(GOOD, done, expected[name], started.url(file), name)

    def test_one_percent_of_errors_changes_no_answer(self):
        started = self.serve(self.root)
        kinds = [faults.internal_error, faults.reset_before_headers, faults.short_body, faults.slow_down, faults.close_before_headers]
        started.rules += [server.Rule("lines", fault, first=number, last=number) for number, fault in enumerate(kinds * 3, 1)]
        for rule in started.rules:  # each rule counts for itself: request number n of all gets fault number n
            rule.first, rule.last = rule.first * 3, rule.last * 3
        expected = self.expected()
        for name, (before, file, after) in list(self.commands().items()) * 4:
            done = remoting.run([*before, started.url(file), *after], self.environment_of("errors"))
            self.check(GOOD, done, expected[name], started.url(file), name)


class Redirects(Case):
    def setUp(self):
        super().setUp()
        self.started, self.other = self.serve(self.root), self.serve(self.root)
        self.name = re.escape(self.file.name)

    def cat(self, url, **more):
        return remoting.run(["cat", "--timeout", str(remoting.DEADLINE), url, str(RECORDS - 1)], self.environment_of("redirects", **more))

    def test_redirects_of_each_status_are_followed(self):
        for number in (301, 302, 303, 307, 308):
            self.started.rules = [server.Rule(self.name, faults.redirect_to(self.other, number))]
            done = remoting.run(["cat", self.started.url(self.file), str(RECORDS - 1)], self.environment_of(f"redirect-{number}"))
            self.assertEqual((done.status, done.err, done.out), (0, "", line(RECORDS - 1)), number)
            self.assertTrue(all(request.range for request in self.other.take_log()))

    def test_credentials_do_not_reach_another_host(self):
        self.started.rules = [server.Rule(self.name, faults.redirect_to(self.other))]
        done = self.cat(self.started.url(self.file).replace("http://", "http://user:pass-word@"))
        self.assertEqual((done.status, done.err, done.out), (0, "", line(RECORDS - 1)))
        self.assertTrue(all("authorization" in request.headers for request in self.started.take_log()))
        reached = self.other.take_log()
        self.assertTrue(reached)
        self.assertFalse([request for request in reached if "authorization" in request.headers or "cookie" in request.headers])

    def test_netrc_is_used_for_its_host_alone(self):
        self.started.rules = [server.Rule(self.name, faults.redirect_to(self.other))]
        given = self.environment_of("netrc")
        netrc = self.folder / "netrc" / "home" / ".netrc"
        netrc.write_text("machine 127.0.0.1 login me password pass-word\n", encoding="utf-8")
        netrc.chmod(0o600)
        done = remoting.run(["cat", self.started.url(self.file), "0"], given)
        self.assertEqual((done.status, done.err, done.out), (0, "", line(0)))
        self.assertTrue(all("authorization" in request.headers for request in self.started.take_log()))
        self.assertFalse([request for request in self.other.take_log() if "authorization" in request.headers])

    def test_signed_target_that_expires_is_resolved_again(self):
        tickets = []
        def resolve(exchange):
            tickets.append(len(tickets))
            return faults.redirect_to(self.other, 302, f"?X-Amz-Signature=ticket{tickets[-1]}")(exchange)
        def expire(exchange):
            """A ticket is good for one request."""
            uses = [request for request in self.other.requests if request.target == exchange.request.target]
            return exchange.answer if len(uses) == 1 else faults.forbidden(exchange)
        self.started.rules = [server.Rule(self.name, resolve)]
        self.other.rules = [server.Rule(self.name, expire)]
        done = remoting.run(["grep", "-c", "7919", self.started.url(self.file)], self.environment_of("tickets"))
        local = remoting.run(["grep", "-c", "7919", self.file], self.environment_of("local"))
        self.assertEqual((done.status, done.err, done.out), (0, "", local.out))
        self.assertGreater(len(tickets), 1)

    def test_few_redirects_are_followed_and_many_are_refused(self):
        for most, is_good in ((3, True), (30, False)):
            def hop(exchange, most=most):
                count = int(exchange.request.parameter("hop", "0"))
                target = f"{exchange.server.origin}/lines.tfrecord?hop={count + 1}"
                return exchange.answer if count == most else faults.redirect(target)(exchange)
            self.started.rules = [server.Rule(self.name, hop)]
            self.started.take_log()
            done = remoting.run(["cat", self.started.url(self.file), "0"], self.environment_of(f"hops-{most}"))
            self.assertEqual(done.status == 0, is_good, done.err)
            self.assertLess(len(self.started.take_log()), 20)

    def test_object_that_a_redirect_leads_to_may_not_change(self):
        self.started.rules = [server.Rule(self.name, faults.redirect_to(self.other))]
        self.other.rules = [server.Rule(self.name, faults.other_etag)]
        done = remoting.run(["grep", "-c", "7919", self.started.url(self.file)], self.environment_of("changing"))
        self.assertNotIn(done.status, (0, 1))
        self.assertRegex(done.err, "changed")


class Mounts(Case):
    def outcome_of(self, action, good):
        """Returns "good", "wrong", or the number of an error of the network."""
        begun = time.monotonic()
        try:
            result = "good" if action() == good else "wrong"
        except OSError as failed:
            result = failed.errno
        self.assertLess(time.monotonic() - begun, remoting.HANGS)
        return result

    def mount_and_fail(self, fault, point):
        """Mounts while all is well, injects a fault, and reads and lists, also afterwards. Returns what is wrong, or None."""
        name = fault.__name__
        started = server.Server(self.root)
        log = self.folder / f"log-{name}"
        expected = expectations.TABLE[fault]
        try:
            rule = server.Rule(re.escape(self.file.name), fault, first=1 + OPENING)
            started.rules.append(rule)
            mounted = mounting.Mount([started.url(self.file)], point, log, [f"timeout_remote={remoting.DEADLINE}", "index=no"],
                                     environment=self.environment_of(f"mount-{name}"))
            self.addCleanup(self._end, mounted)
            record, listing = point / f"records/{MIDDLE}", [f"{number:09}" for number in range(RECORDS)]
            found = [self.outcome_of(record.read_bytes, line(MIDDLE)),
                     self.outcome_of(lambda: sorted(os.listdir(point / "records")), listing)]
            for outcome in found:
                self.assertIn(outcome, {"good"} if expected.later == GOOD else NETWORK_ERRORS | {"good"}, name)
            if isinstance(expected.later, str) and expected.later != GOOD:
                self.assertNotIn("good", found, name)
            if expected.recovers:  # and the object has not changed, as far as can be seen
                self.assertEqual((point / "records/0").read_bytes(), line(0), name)
            started.rules.clear()
            if expected.recovers:
                built.wait_for(lambda: self.outcome_of(record.read_bytes, line(MIDDLE)) == "good", f"a record after {name}", 30)
                built.wait_for(lambda: self.outcome_of(lambda: sorted(os.listdir(point / "records")), listing) == "good",
                               f"the listing after {name}", 30)
            else:
                self.assertIn(self.outcome_of(record.read_bytes, line(MIDDLE)), NETWORK_ERRORS | {"good"}, name)
            self.assertEqual(started.problems, [], name)
            self.assertEqual(mounted.unmount(), 0, mounted.log())
            if isinstance(expected.later, str) and expected.later != GOOD:
                self.assertRegex(mounted.log(), expected.later, name)
        except (AssertionError, OSError) as failed:
            return f"{name}: {str(failed)[:600]}\n  requests: {started.requests[:3]}\n  log: {log.read_text(encoding='utf-8')[:300] if log.exists() else ''}"
        finally:
            started.stop()
        return None

    def test_mount_reports_each_fault_and_recovers(self):
        runs = [(fault, self.new_point()) for fault in expectations.TABLE]
        wrong = [each for each in remoting.in_parallel(lambda run: self.mount_and_fail(*run), runs) if each]
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {len(runs)}:\n" + "\n".join(wrong))

    def test_mount_recovers_after_refused_connections(self):
        started = self.serve(self.root)
        mounted = mounting.Mount([started.url(self.file)], self.new_point(), self.folder / "log", ["timeout_remote=1", "index=no"],
                                 environment=self.environment_of("refusing"))
        self.addCleanup(self._end, mounted)
        started.refuse()
        outcome = self.outcome_of((mounted / f"records/{MIDDLE}").read_bytes, line(MIDDLE))
        self.assertIn(outcome, NETWORK_ERRORS | {"good"})
        started.listen()
        built.wait_for(lambda: self.outcome_of((mounted / f"records/{MIDDLE}").read_bytes, line(MIDDLE)) == "good", "recovery", 30)

    def test_fault_while_mounting_is_reported(self):
        for fault in (faults.internal_error, faults.not_found, faults.stall_before_headers, faults.redirect_to_file):
            with server.Server(self.root) as started:
                started.rules.append(server.Rule("lines", fault))
                point = self.new_point()
                done = mounting.run(built.program("recordfs"), "-o", "timeout_remote=1", started.url(self.file), point,
                                    env=self.environment_of("failing"))
                self.assertEqual((done.returncode, done.stdout), (CANNOT_OPEN, ""), done.stderr)
                self.assertRegex(done.stderr, expectations.TABLE[fault].all)
                self.assertNotIn(str(point), mounting.mounts())


class Listings(Case):
    FAULTS = (faults.malformed_listing, faults.truncated_listing, faults.html_listing, faults.deep_listing, faults.entities_in_listing,
              faults.endless_listing, faults.internal_error, faults.forbidden, faults.stall_before_headers, faults.reset_in_body)

    def check_listing(self, started, url, environment, fault):
        started.rules = [server.Rule(r"/$|list-type", fault)]
        done = remoting.run(["info", "--timeout", "2", url], environment)
        self.assertIsNone(built.COMPLAINT.search(done.err), done.err)
        self.assertNotIn(done.status, (0, 1), (fault.__name__, done.out[:300]))
        self.assertRegex(done.err, r"\A(recordfs: [^\n]+\n)+\Z", fault.__name__)

    def test_malformed_listings_of_http_are_reported(self):
        def check(fault):
            with server.Server(self.root) as started:
                self.check_listing(started, f"{started.origin}/", self.environment_of(f"http-{fault.__name__}"), fault)
        remoting.in_parallel(check, self.FAULTS)

    def test_malformed_listings_of_s3_are_reported(self):
        started = self.serve_s3(self.folder)
        for fault in self.FAULTS:
            self.check_listing(started, "s3://root/", self.environment_of(f"s3-{fault.__name__}"), fault)

    def test_listing_that_does_not_advance_ends(self):
        started = self.serve_s3(self.folder)
        started.rules = [server.Rule("list-type", faults.listing_that_does_not_advance)]
        done = remoting.run(["info", "s3://root/"], self.environment_of("again"))
        self.assertNotEqual(done.status, 0)
        self.assertLess(len(started.take_log()), 1000)

    def test_listing_that_repeats_names_leads_to_no_records_that_are_read_twice(self):
        started = self.serve(self.root)
        started.rules = [server.Rule("/$", faults.repeated_names)]
        for words in (["cat", f"{started.origin}/*.tfrecord"], ["info", f"{started.origin}/"]):
            done = remoting.run(words, self.environment_of("twice"))
            self.assertEqual((done.status, done.out), (2, b""))
            self.assertRegex(done.err, r"\Arecordfs: [^\n]*has a name twice\n\Z")

    def test_names_outside_the_directory_are_left_out(self):
        for started, url in ((self.serve(self.root), None), (self.serve_s3(self.folder), "s3://root/")):
            started.rules = [server.Rule(r"/$|list-type", faults.names_outside_the_directory)]
            done = remoting.run(["info", "--json", url or f"{started.origin}/"], self.environment_of(f"outside-{started.port}"))
            self.assertIn("lines.tfrecord", done.out.decode())
            self.assertNotIn("passwd", done.out.decode() + done.err)
            self.assertFalse([request for request in started.take_log() if "passwd" in request.target or ".." in request.target])


if __name__ == "__main__":
    mounting.main()
