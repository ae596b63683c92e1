"""A server of the S3 protocol in path style: GET of objects, ListObjectsV2, errors in XML, versions, and checked signatures."""
import base64
import datetime
import os
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

import signatures
from server import Answer, Object, Server, now

REGION = "eu-central-1"
SKEW = datetime.timedelta(minutes=15)


def error(status, code, message, more="", headers=None):
    """Returns an answer with an error as S3 formats it."""
    body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{escape(message)}</Message>{more}'
            "<RequestId>4442587FB7D0A2F9</RequestId><HostId>abc=</HostId></Error>")
    return Answer(status, {"Content-Type": "application/xml", "x-amz-request-id": "4442587FB7D0A2F9", **(headers or {})}, body.encode())


class Bucket(Server):
    """Serves each folder of the root as a bucket, for requests that are signed with one of `keys`: {access key: (secret, token or None)}."""

    def __init__(self, root, keys=None, region=REGION, **more):
        self.keys, self.region = keys, region  # without keys, unsigned requests are answered too
        self.is_versioned = False
        self.old = {}        # (path, version): Object
        self.page = 1000     # most keys of a page
        self.clock = datetime.timedelta(0)  # how much the server's clock differs
        super().__init__(root, **more)

    def put(self, path, data):
        super().put(path, data)
        if self.is_versioned:
            found = self.find(path)
            self.old[path.lstrip("/"), version_of(found)] = found

    def answer(self, request):
        answer = self._refusal(request) or self._answer(request)
        answer.headers.setdefault("Date", (now() + self.clock).strftime("%a, %d %b %Y %H:%M:%S GMT"))
        return answer

    def _refusal(self, request):
        """Returns the answer to a request that is not signed as it must be; None: it is."""
        if self.keys is None:
            return None
        if "authorization" not in request.headers:
            return error(403, "AccessDenied", "Access Denied")
        signed = signatures.parse(request)
        if signed is None:
            return error(400, "AuthorizationHeaderMalformed", "The authorization header is malformed.")
        if signed.access_key not in self.keys:
            return error(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
        secret, token = self.keys[signed.access_key]
        if signed.region != self.region:
            return error(400, "AuthorizationHeaderMalformed", f"The authorization header is malformed; the region '{signed.region}' is wrong; "
                         f"expecting '{self.region}'", f"<Region>{self.region}</Region>", {"x-amz-bucket-region": self.region})
        if token != request.headers.get("x-amz-security-token"):
            return error(400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
        if abs(signed.time - (now() + self.clock)) > SKEW:
            return error(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
        if signed.signature != signatures.expected(request, signed, secret, token):
            return error(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.")
        return None

    def _answer(self, request):
        if request.method != "GET":
            return error(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
        bucket, _, key = request.path.lstrip("/").partition("/")
        if not (self.root / bucket).is_dir():
            return error(404, "NoSuchBucket", "The specified bucket does not exist", f"<BucketName>{escape(bucket)}</BucketName>")
        if key == "":
            return self._list(request, bucket) if request.parameter("list-type") == "2" else error(400, "InvalidRequest", "not a list of version 2")
        name = f"{bucket}/{key}"
        found = self.find(name)
        version = request.parameter("versionId")
        if version and version != version_of(found):
            found = self.old.get((name, version))
        if not isinstance(found, Object):
            return error(404, "NoSuchKey", "The specified key does not exist.", f"<Key>{escape(key)}</Key>")
        answer = self.part(request, found)
        if answer.status == 412:
            answer = error(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        elif answer.status == 416:
            # S3 tells the size in the error's XML, and in no header.
            answer = error(416, "InvalidRange", "The requested range is not satisfiable", f"<ActualObjectSize>{found.size}</ActualObjectSize>",
                           {"Content-Range": f"bytes */{found.size}"})
        if self.is_versioned:
            answer.headers["x-amz-version-id"] = version_of(found)
        return answer

    def keys_of(self, bucket):
        """Returns {key: Object} of a bucket, sorted as S3 sorts."""
        found = {}
        for folder, _, files in os.walk(self.root / bucket):
            for file in files:
                path = os.path.relpath(os.path.join(folder, file), self.root)
                found[path.partition("/")[2]] = self.find(path)
        for path in self.objects:
            if path.startswith(f"{bucket}/"):
                found[path.partition("/")[2]] = self.find(path)
        return dict(sorted(found.items(), key=lambda item: os.fsencode(item[0])))

    def _list(self, request, bucket):
        prefix, delimiter = request.parameter("prefix"), request.parameter("delimiter")
        most = min(int(request.parameter("max-keys", "1000")), self.page)
        try:
            token = os.fsdecode(base64.urlsafe_b64decode(request.parameter("continuation-token")))
        except ValueError:
            return error(400, "InvalidArgument", "The continuation token provided is incorrect")
        after = token or request.parameter("start-after")
        rows, last = [], after
        is_truncated = False
        for key, found in self.keys_of(bucket).items():
            if not key.startswith(prefix):
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            shown = key if cut < 0 else key[:cut + len(delimiter)]
            if os.fsencode(shown) <= os.fsencode(after) or (rows and rows[-1][0] == shown):
                continue
            if len(rows) == most:
                is_truncated = True
                break
            rows.append((shown, found if cut < 0 else None))
            last = shown
        return Answer(200, {"Content-Type": "application/xml"}, _listing(request, bucket, rows, last if is_truncated else None).encode())


def version_of(found):
    return found.etag.strip('"')[:12] if isinstance(found, Object) else ""


def _listing(request, bucket, rows, last):
    """Returns the XML of a page. `last`: the last key of a page that is not the last one."""
    encoded = (lambda text: quote_plus(os.fsencode(text), safe="/")) if request.parameter("encoding-type") == "url" else escape
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
             f"<Name>{bucket}</Name><Prefix>{encoded(request.parameter('prefix'))}</Prefix><KeyCount>{len(rows)}</KeyCount>",
             f"<MaxKeys>{len(rows)}</MaxKeys><IsTruncated>{'false' if last is None else 'true'}</IsTruncated>"]
    if request.parameter("encoding-type") == "url":
        parts.append("<EncodingType>url</EncodingType>")
    if last is not None:
        parts.append(f"<NextContinuationToken>{base64.urlsafe_b64encode(os.fsencode(last)).decode()}</NextContinuationToken>")
    for key, found in rows:
        if found is None:
            parts.append(f"<CommonPrefixes><Prefix>{encoded(key)}</Prefix></CommonPrefixes>")
        else:
            modified = datetime.datetime.fromtimestamp(found.modified, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
            parts.append(f"<Contents><Key>{encoded(key)}</Key><LastModified>{modified}</LastModified><ETag>{escape(found.etag)}</ETag>"
                         f"<Size>{found.size}</Size><StorageClass>STANDARD</StorageClass></Contents>")
    return "".join(parts) + "</ListBucketResult>"
