"""Recomputes signatures of AWS, version 4, with botocore."""
import datetime
import os
import re
from typing import NamedTuple
from urllib.parse import quote

try:
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError:
    S3SigV4Auth = None

NEEDS_BOTOCORE = "botocore is not installed, so no signature was checked (Debian: python3-botocore)"
_HEADER = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/,]+)/(\d{8})/([^/,]+)/([^/,]+)/aws4_request, ?"
                     r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})")


def is_available():
    return S3SigV4Auth is not None


class Signed(NamedTuple):
    """What an Authorization header says."""

    access_key: str
    region: str
    service: str
    headers: list
    signature: str
    stamp: str  # the time, as in x-amz-date
    time: datetime.datetime


def parse(request):
    """Returns what a request's Authorization says; None: it is not as S3 wants it."""
    match = _HEADER.fullmatch(request.headers.get("authorization", ""))
    stamp = request.headers.get("x-amz-date", "")
    if not match or not re.fullmatch(r"\d{8}T\d{6}Z", stamp) or stamp[:8] != match[2] or match[4] != "s3":
        return None
    names = match[5].split(";")
    needed = {"host", *(name for name in request.headers if name.startswith("x-amz-"))}
    if names != sorted(names) or not needed <= set(names) or "x-amz-content-sha256" not in request.headers:
        return None
    time = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    return Signed(match[1], match[3], match[4], names, match[6], stamp, time)


def _encoded(text, safe=""):
    return quote(os.fsencode(text), safe=f"~{safe}")


def expected(request, signed, secret, token):
    """Returns the signature that a request must have. S3 decodes path and query, and encodes them in its own way."""
    query = "&".join(f"{_encoded(name)}={_encoded(value)}" for name, value in request.query)
    url = f"http://{request.headers['host']}{_encoded(request.path, '/')}{'?' if query else ''}{query}"
    again = AWSRequest(method=request.method, url=url, headers={name: request.headers.get(name, "") for name in signed.headers})
    again.context["timestamp"] = signed.stamp
    auth = S3SigV4Auth(Credentials(signed.access_key, secret, token), signed.service, signed.region)
    return auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
