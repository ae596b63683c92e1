#!/usr/bin/env python3
"""The test server is correct without rules, and wrong as its rules say."""
import datetime
import http.client
import json
import re
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path
from urllib.parse import quote, unquote_plus

import bucket
import faults
import server
import signatures

DATA = bytes(range(256)) * 40
KEYS = {"AKIA1": ("secret/+=", "token=="), "AKIA2": ("other", None)}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enter(tempfile.TemporaryDirectory()))
        (self.folder / "b" / "d").mkdir(parents=True)
        (self.folder / "b" / "x").write_bytes(DATA)
        (self.folder / "b" / "empty").touch()
        for number in range(25):
            (self.folder / "b" / "d" / f"k={number} +\u00e9").write_bytes(b"hello")
        self.server = self.enter(self.start())
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        self.addCleanup(self.connection.close)

    def enter(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def start(self):
        return server.Server(self.folder)

    def get(self, target, **headers):
        """Returns the response and its body."""
        self.connection.request("GET", target, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = self.connection.getresponse()
        return response, response.read()


class Http(Case):
    def test_ranges(self):
        for wanted, status, body, content_range in [
                (None, 200, DATA, None), ("bytes=0-9", 206, DATA[:10], "bytes 0-9/10240"), ("bytes=5-5", 206, DATA[5:6], "bytes 5-5/10240"),
                ("bytes=10000-", 206, DATA[10000:], "bytes 10000-10239/10240"), ("bytes=10239-99999", 206, DATA[-1:], "bytes 10239-10239/10240"),
                ("bytes=-7", 206, DATA[-7:], "bytes 10233-10239/10240"), ("bytes=10240-10300", 416, b"", "bytes */10240"),
                ("bytes=0-1,4-5", 200, DATA, None)]:
            response, found = self.get("/b/x", **({"Range": wanted} if wanted else {}))
            self.assertEqual((response.status, found, response.getheader("Content-Range")), (status, body, content_range), wanted)
        self.assertEqual({request.connection for request in self.server.requests}, {1}, "the connection was kept")

    def test_empty_file_has_no_range(self):
        response, found = self.get("/b/empty", Range="bytes=0-99")
        self.assertEqual((response.status, found, response.getheader("Content-Range")), (416, b"", "bytes */0"))

    def test_condition(self):
        etag = self.get("/b/x", Range="bytes=0-0")[0].getheader("ETag")
        self.assertRegex(etag, r'\A"[0-9a-f]+"\Z')
        self.assertEqual(self.get("/b/x", If_Match=etag, Range="bytes=0-0")[0].status, 206)
        self.assertEqual(self.get("/b/x", If_Match='"other"', Range="bytes=0-0")[0].status, 412)
        (self.folder / "b" / "x").write_bytes(DATA)
        self.assertEqual(self.get("/b/x", If_Match=etag, Range="bytes=0-0")[0].status, 412)

    def test_listing(self):
        rows = json.loads(self.get("/b/")[1])
        self.assertEqual([(row["name"], row["type"], row.get("size")) for row in rows],
                         [("d", "directory", None), ("empty", "file", 0), ("x", "file", len(DATA))])
        self.assertEqual(self.get("/b")[0].status, 301)
        self.assertEqual(self.get("/nothing/")[0].status, 404)
        self.assertEqual(self.get("/b/../../etc/passwd")[0].status, 404)
        self.assertEqual(self.get(quote("/b/d/k=3 +\u00e9"))[1], b"hello")

    def test_delay(self):
        self.server.delay = 0.2
        begun = time.monotonic()
        self.get("/b/x")
        self.assertGreaterEqual(time.monotonic() - begun, 0.2)

    def test_rule_applies_to_the_requests_that_it_names(self):
        self.server.rules = [server.Rule("/x", faults.internal_error, first=2, last=3)]
        self.assertEqual([self.get("/b/x")[0].status for _ in range(5)], [200, 500, 500, 200, 200])
        self.assertEqual([request.fault for request in self.server.take_log()], ["", "internal_error", "internal_error", "", ""])

    def test_refused_connections_are_accepted_again_on_the_same_port(self):
        self.server.refuse()
        self.connection.close()
        with self.assertRaises(ConnectionRefusedError):
            self.get("/b/x")
        self.connection.close()
        self.server.listen()
        self.assertEqual(self.get("/b/x")[0].status, 200)

    def test_each_fault_changes_an_answer(self):
        normal = self.outcome("/b/x"), self.outcome("/b/")
        count = 0
        for name, fault in vars(faults).items():
            waits = name in ("stall_before_headers", "stall_in_body", "endless_object", "endless_chunks")
            if getattr(fault, "__module__", "") != "faults" or name.startswith("_") or name in ("of_objects", "status", "s3_error", "redirect", "redirect_to") or waits:
                continue
            self.server.rules = [server.Rule("", fault)]
            if name not in ("whole_object", "drop_after_answer", "trickle", "lower_case_headers", "listing_that_does_not_advance"):
                self.assertNotEqual((self.outcome("/b/x"), self.outcome("/b/")), normal, name)
            count += 1
        self.assertGreater(count, 55)
        self.assertEqual(self.server.problems, [])

    def outcome(self, target):
        """Returns what a client sees of an answer, and of its connection."""
        self.connection.close()
        self.connection.timeout = 1
        try:
            response, body = self.get(target, Range="bytes=0-39")
        except (OSError, http.client.HTTPException) as failed:
            return type(failed).__name__
        headers = {name: value for name, value in response.getheaders() if name != "Date"}
        return response.status, response.version, headers, body


class S3(Case):
    def start(self):
        return bucket.Bucket(self.folder, KEYS if signatures.is_available() else None)

    def signed(self, target, access_key="AKIA1", secret=None, region=bucket.REGION, when=None, token="", **headers):
        """Returns response and body of a signed request."""
        if not signatures.is_available():
            return self.get(target, **headers)
        stamp = (when or server.now()).strftime("%Y%m%dT%H%M%SZ")
        fields = {"host": f"127.0.0.1:{self.server.port}", "x-amz-date": stamp, "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
        token = KEYS[access_key][1] if token == "" and access_key in KEYS else token
        fields.update({"x-amz-security-token": token} if token else {})
        request = server.Request("GET", target, fields, 0)
        names = sorted(fields)
        signed = signatures.Signed(access_key, region, "s3", names, "", stamp, None)
        signature = signatures.expected(request, signed, secret or KEYS.get(access_key, ("?",))[0], token)
        scope = f"{access_key}/{stamp[:8]}/{region}/s3/aws4_request"
        fields["authorization"] = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={';'.join(names)}, Signature={signature}"
        self.connection.request("GET", target, headers=fields | headers)
        response = self.connection.getresponse()
        return response, response.read()

    def code(self, answer):
        """Returns the status and code of an error."""
        return answer[0].status, re.search(rb"<Code>(.*?)</Code>", answer[1])[1].decode()

    def test_objects(self):
        response, found = self.signed("/b/x", Range="bytes=3-5")
        self.assertEqual((response.status, found), (206, DATA[3:6]))
        self.assertEqual(self.code(self.signed("/b/nothing")), (404, "NoSuchKey"))
        self.assertEqual(self.code(self.signed("/c/x")), (404, "NoSuchBucket"))
        self.assertEqual(self.code(self.signed("/b/empty", Range="bytes=0-5")), (416, "InvalidRange"))

    @unittest.skipUnless(signatures.is_available(), signatures.NEEDS_BOTOCORE)
    def test_signatures(self):
        hour = datetime.timedelta(hours=1)
        self.assertEqual(self.code(self.get("/b/x")), (403, "AccessDenied"))
        self.assertEqual(self.code(self.signed("/b/x", secret="wrong")), (403, "SignatureDoesNotMatch"))
        self.assertEqual(self.code(self.signed("/b/x", access_key="AKIA3", secret="x", token=None)), (403, "InvalidAccessKeyId"))
        self.assertEqual(self.code(self.signed("/b/x", token="other")), (400, "InvalidToken"))
        self.assertEqual(self.code(self.signed("/b/x", region="us-east-1")), (400, "AuthorizationHeaderMalformed"))
        self.assertEqual(self.code(self.signed("/b/x", when=server.now() - hour)), (403, "RequestTimeTooSkewed"))
        self.assertEqual(self.signed("/b/x", access_key="AKIA2")[0].status, 200)
        self.assertEqual(self.signed(quote("/b/d/k=3 +\u00e9"))[1], b"hello")

    def keys(self, parameters):
        """Returns the keys, directories and next token of a page."""
        body = self.signed(f"/b?list-type=2&encoding-type=url{parameters}")[1]
        page = xml.etree.ElementTree.fromstring(re.sub(rb' xmlns="[^"]*"', b"", body))
        return ([unquote_plus(key.text) for key in page.findall("Contents/Key")],
                [unquote_plus(prefix.text) for prefix in page.findall("CommonPrefixes/Prefix")], page.findtext("NextContinuationToken"))

    def test_pages(self):
        self.assertEqual(self.keys("&delimiter=%2F"), (["empty", "x"], ["d/"], None))
        found, token = [], ""
        while token is not None:
            keys, _, token = self.keys(f"&prefix=d%2F&max-keys=10{f'&continuation-token={quote(token)}' if token else ''}")
            self.assertLessEqual(len(keys), 10)
            found += keys
        self.assertEqual(found, sorted((f"d/k={number} +\u00e9" for number in range(25)), key=str.encode))

    def test_versions(self):
        self.server.is_versioned = True
        self.server.put("b/v", b"first")
        version = self.signed("/b/v")[0].getheader("x-amz-version-id")
        self.server.put("b/v", b"second")
        self.assertEqual(self.signed("/b/v")[1], b"second")
        self.assertEqual(self.signed(f"/b/v?versionId={version}")[1], b"first")
        self.assertEqual(self.signed("/b/v?versionId=other")[0].status, 404)


if __name__ == "__main__":
    unittest.main(verbosity=2)
