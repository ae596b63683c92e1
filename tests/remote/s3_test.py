#!/usr/bin/env python3
"""Signed requests to S3: keys, tokens, regions, clocks, versions, and what each refusal says. Needs botocore."""
import datetime
import sys

import bucket
import built
import commands_test
import faults
import remoting
import server
import signatures

SKIPPED = 77
FILE = "riegeli/multiblock_zstd.riegeli"


class Case(commands_test.Case):
    def setUp(self):
        super().setUp()
        self.bucket = self.serve_s3(built.corpus().parent)
        self.url = f"s3://corpus/{FILE}"
        self.expected = remoting.run(["cat", built.sample(FILE)], remoting.environment(self.folder))

    def cat(self, *words, url=None, **more):
        """Runs `cat` with changed variables of the environment."""
        given = {name: value for name, value in (self.environment() | more).items() if value is not None}
        return remoting.run(["cat", "--timeout", str(remoting.DEADLINE), "--no-cache", *words, url or self.url], given)

    def assert_good(self, done):
        self.assertEqual((done.status, done.err), (0, ""))
        self.assertEqual(done.out, self.expected.out)

    def assert_fails(self, done, message):
        self.assertNotIn(done.status, (0, 1))
        self.assertEqual(done.out, b"")
        self.assertRegex(done.err, r"\A(recordfs: [^\n]+\n)+\Z")
        self.assertRegex(done.err, message)
        for secret in (remoting.SECRET, remoting.TOKEN, "Signature="):
            self.assertNotIn(secret, done.err)


class Credentials(Case):
    def test_signed_request_is_answered(self):
        self.assert_good(self.cat())
        self.assertTrue(all("authorization" in request.headers for request in self.bucket.requests))

    def test_unsigned_request_is_refused_with_a_hint(self):
        self.assert_fails(self.cat("--no-sign-request"), r"[Dd]enied|403")
        self.assert_fails(self.cat(AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None, AWS_SESSION_TOKEN=None),
                          r"credentials|unsigned|sign")

    def test_public_bucket_is_read_unsigned(self):
        self.bucket.keys = None
        self.assert_good(self.cat("--no-sign-request"))
        self.assertFalse(any("authorization" in request.headers for request in self.bucket.requests))
        self.assert_good(self.cat(AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None, AWS_SESSION_TOKEN=None))

    def test_wrong_secret_is_reported(self):
        self.assert_fails(self.cat(AWS_SECRET_ACCESS_KEY="wrong"), r"[Ss]ignature")

    def test_unknown_key_is_reported(self):
        self.assert_fails(self.cat(AWS_ACCESS_KEY_ID="AKIANOBODY"), r"InvalidAccessKeyId|does not exist|[Aa]ccess [Kk]ey")

    def test_profile_has_the_keys(self):
        folder = self.folder / "home" / ".aws"
        folder.mkdir(parents=True)
        (folder / "credentials").write_text(f"[other]\naws_access_key_id = {remoting.ACCESS_KEY}\naws_secret_access_key = {remoting.SECRET}\n"
                                            f"aws_session_token = {remoting.TOKEN}\n", encoding="utf-8")
        (folder / "config").write_text(f"[profile other]\nregion = {bucket.REGION}\n", encoding="utf-8")
        none = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None, "AWS_SESSION_TOKEN": None}
        self.assert_good(self.cat(AWS_PROFILE="other", AWS_REGION=None, **none))
        self.assert_fails(self.cat(AWS_PROFILE="nothing", **none), r"profile|nothing|credentials")

    def test_expired_token_is_reported(self):
        self.bucket.rules = [server.Rule("", faults.expired_token)]
        self.assert_fails(self.cat(), r"[Ee]xpired")
        self.assertLess(len(self.bucket.requests), 6)


class Regions(Case):
    def test_wrong_region_is_corrected(self):
        self.assert_good(self.cat(AWS_REGION="us-west-2"))
        self.assert_good(self.cat(AWS_REGION=None))

    def test_redirect_to_a_region_is_signed_again(self):
        """With the region of a server whose answer names another one."""
        self.bucket.region = "ap-south-1"
        self.bucket.rules = [server.Rule("", faults.wrong_region, last=1)]
        self.assert_good(self.cat(AWS_REGION=bucket.REGION))

    def test_region_that_is_always_wrong_is_reported(self):
        self.bucket.rules = [server.Rule("", faults.wrong_region)]
        self.assert_fails(self.cat(), r"region|301|PermanentRedirect|endpoint")
        self.assertLess(len(self.bucket.requests), 8)


class Clocks(Case):
    def test_clock_that_differs_is_corrected(self):
        for hours in (-5, 5):
            self.bucket.clock = datetime.timedelta(hours=hours)
            self.assert_good(self.cat())


class Refusals(Case):
    def test_messages_say_what_s3_has_said(self):
        for fault, message in [(faults.access_denied, r"[Dd]enied"), (faults.no_such_key, "no such key"),
                               (faults.no_such_bucket, "no such bucket"),
                               (faults.invalid_object_state, r"archive|storage class|Glacier"), (faults.slow_down, r"SlowDown|503|rate")]:
            with self.subTest(fault=fault.__name__):
                self.bucket.rules = [server.Rule("", fault)]
                self.assert_fails(self.cat(), message)

    def test_passing_refusals_are_retried(self):
        for fault in (faults.slow_down, faults.internal_error):
            self.bucket.rules = [server.Rule("", fault, last=1)]
            self.assert_good(self.cat())

    def test_missing_key_and_bucket(self):
        self.assert_fails(self.cat(url="s3://corpus/nothing.riegeli"), r"s3://corpus/nothing\.riegeli: .*no such key")
        self.assert_fails(self.cat(url="s3://no-such-bucket/x.riegeli"), r"s3://no-such-bucket/x\.riegeli: .*no such bucket")


class Versions(Case):
    def test_version_is_pinned_while_the_object_is_replaced(self):
        self.bucket.is_versioned = True
        first = built.sample("riegeli/multiblock_zstd.riegeli").read_bytes()
        self.bucket.put("corpus/v.riegeli", first)
        def replace(exchange):
            exchange.server.put("corpus/v.riegeli", b"something else" * 1000)
            return exchange.answer
        self.bucket.rules = [server.Rule("v.riegeli", replace, last=1)]
        done = self.cat(url="s3://corpus/v.riegeli")
        # A block that was read before shows no change; all others are of the pinned version.
        self.assert_good(done)

    def test_object_that_is_replaced_without_versions_is_reported(self):
        large = remoting.make("tfrecord", 20000, self.folder / "large.tfrecord").read_bytes()
        self.bucket.put("corpus/v.tfrecord", large)
        def replace(exchange):
            exchange.server.put("corpus/v.tfrecord", b"x" + large[1:])
            return exchange.answer
        self.bucket.rules = [server.Rule("v.tfrecord", replace, last=1)]
        done = self.cat(url="s3://corpus/v.tfrecord")
        self.assertNotIn(done.status, (0, 1))
        self.assertRegex(done.err, "changed")


if __name__ == "__main__":
    if not signatures.is_available():
        print(f"SKIPPED: {signatures.NEEDS_BOTOCORE}")
        sys.exit(SKIPPED)
    remoting.main()
