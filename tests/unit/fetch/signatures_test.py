#!/usr/bin/env python3
"""Requests to S3 equal those that botocore sends, to the last byte of URL and signature.

signatures_test.py PROGRAM: PROGRAM is signed_requests. Nothing is sent.
"""
import datetime
import os
import random
import subprocess
import sys
import types
import unittest
from urllib.parse import parse_qsl, quote, urlsplit

try:
    import botocore.session
    from botocore.awsrequest import AWSResponse
    from botocore.config import Config
except ImportError:
    print("botocore is not installed (Debian: python3-botocore)")
    sys.exit(77)

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
REGION = "eu-central-1"
BUCKETS = ["bucket", "my-bucket-1", "my.bucket.example", "0numbers"]
KEYS = ["x", "a/b/c.riegeli", "year=2024/month=01/x", "a b", "a+b", "a%20b", "100%", "%", "a:b", "a*b", "a//b", "//a", "/a",
        "a/", "a/.", "./a", "a/../b", "..", ".", "é/ü/日本語/😀", "?", "a?b=c&d", "#a", "a~b", "a'b\"c", "(a)!", "a,b;c@d$e",
        "[a]{b}|c\\d^e`", "<a>", "=", "&", "a=b=c", "a\u00a0b", "~-._", "x" * 900]


def random_keys(count):
    letters = "abcXYZ019-._~ /+=:*%&?#@!$'(),;[]{}|\\^`<>\"é日😀"
    chance = random.Random(35)
    return ["".join(chance.choice(letters) for _ in range(chance.randint(1, 40))) for _ in range(count)]


def leave_settings_out():
    """Removes the settings of the user of this test."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = f"{__file__}.absent"


def environment(token="", endpoint=""):
    return {**os.environ, **CREDENTIALS, "AWS_SESSION_TOKEN": token, "AWS_ENDPOINT_URL_S3": endpoint, "AWS_REGION": REGION}


def ours(lines, token="", endpoint=""):
    """Returns (URL, headers by lower-case name) of each request."""
    done = subprocess.run([sys.argv[1]], input="\n".join(lines) + "\n", text=True, check=True,
                          stdout=subprocess.PIPE, env=environment(token, endpoint))
    requests = []
    for block in done.stdout.split("\n\n")[:-1]:
        url, *headers = block.split("\n")
        requests.append((url, {name.lower(): value for name, value in (header.split(": ", 1) for header in headers)}))
    return requests


class Botocore:
    """Makes requests as botocore does, and keeps them."""

    def __init__(self, token="", endpoint=""):
        session = botocore.session.Session()
        is_tls = not endpoint.startswith("http:")
        style = "path" if endpoint else "virtual"
        self._client = session.create_client(
            "s3", region_name=REGION, endpoint_url=endpoint or None, aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"], aws_session_token=token or None,
            config=Config(signature_version="s3v4", s3={"addressing_style": style, "payload_signing_enabled": not is_tls}))
        self._client.meta.events.register("before-sign.s3", self._remove_checksum_mode)
        self._client.meta.events.register("before-send.s3", self._keep)
        self._kept = None

    @staticmethod
    def _remove_checksum_mode(request, **_):
        """Newer versions ask for checksums, which the fetcher does not."""
        del request.headers["x-amz-checksum-mode"]

    def _keep(self, request, **_):
        self._kept = request
        raw = types.SimpleNamespace(stream=lambda *_, **__: iter([b""]), read=lambda *_: b"")
        response = AWSResponse(request.url, 200, {}, raw)
        response._content = b"<ListBucketResult></ListBucketResult>"
        return response

    def _request(self):
        kept = {name.lower(): value.decode() if isinstance(value, bytes) else value
                for name, value in self._kept.headers.items()}
        return self._kept.url, kept

    def object(self, bucket, key):
        self._client.get_object(Bucket=bucket, Key=key, Range="bytes=3-9")
        return self._request()

    def list(self, bucket, prefix, page):
        more = {"ContinuationToken": page} if page else {}
        self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, Delimiter="/", MaxKeys=1000, EncodingType="url", **more)
        return self._request()


SIGNED = ("authorization", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "range")


def comparable(request):
    """Returns what must be equal. The order of a query's parameters and the scheme's own port do not matter to a server."""
    url, headers = request
    parts = urlsplit(url)
    query = sorted(parse_qsl(parts.query, keep_blank_values=True))
    host = parts.netloc.removesuffix(":80") if parts.scheme == "http" else parts.netloc
    return {"url": (parts.scheme, host, parts.path, query), **{name: headers.get(name) for name in SIGNED}}


def line(kind, url, page, like):
    """Returns the input for a request of the same time as `like`."""
    time = datetime.datetime.strptime(like[1]["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    return f"{kind} {int(time.timestamp())} {quote(url, safe='')} {quote(page, safe='')}"


class SignaturesTest(unittest.TestCase):
    maxDiff = None

    def compare(self, lines, theirs, **configuration):
        compared = 0
        for asked, our, their in zip(lines, ours(lines, **configuration), theirs):
            self.assertEqual(comparable(our), comparable(their), asked)
            self.assertIn("Signature=", our[1]["authorization"])
            compared += 1
        return compared

    def compare_objects(self, buckets, keys, **configuration):
        botocores = Botocore(**configuration)
        pairs = [(bucket, key) for bucket in buckets for key in keys]
        theirs = [botocores.object(bucket, key) for bucket, key in pairs]
        lines = [line("object", f"s3://{bucket}/{key}", "", like) for (bucket, key), like in zip(pairs, theirs)]
        compared = self.compare(lines, theirs, **configuration)
        self.assertEqual(compared, len(pairs))

    def test_objects_at_amazon_have_the_same_signature(self):
        self.compare_objects(BUCKETS, KEYS)

    def test_random_keys_have_the_same_signature(self):
        self.compare_objects(["bucket"], random_keys(300))

    def test_session_tokens_are_signed(self):
        self.compare_objects(["bucket"], KEYS[:5], token="FwoGZXIvYXdzE//token+with/marks==")

    def test_endpoints_have_the_same_signature(self):
        for endpoint in ("http://127.0.0.1:9000", "https://minio.example", "https://minio.example:8443", "http://localhost:80"):
            with self.subTest(endpoint):
                self.compare_objects(["bucket", "my.bucket"], KEYS, endpoint=endpoint)

    def test_listings_have_the_same_signature(self):
        for endpoint in ("", "http://127.0.0.1:9000"):
            botocores = Botocore(endpoint=endpoint)
            prefixes = ["", *(key.rstrip("/") + "/" for key in KEYS if key.strip("/"))]
            asked = [(bucket, prefix, page) for bucket in BUCKETS for prefix in prefixes for page in ("", "1/a+b==&c d*")]
            theirs = [botocores.list(*one) for one in asked]
            lines = [line("list", f"s3://{bucket}/{prefix}", page, like)
                     for (bucket, prefix, page), like in zip(asked, theirs)]
            compared = self.compare(lines, theirs, endpoint=endpoint)
            self.assertEqual(compared, len(asked))


if __name__ == "__main__":
    leave_settings_out()
    unittest.main(argv=sys.argv[:1])
