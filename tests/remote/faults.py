"""What servers and networks do wrong. Each fault takes an Exchange, and returns the answer that is sent, or ends the connection."""
import functools
import json
import re
import time
from urllib.parse import quote

import bucket
from server import Answer, Dropped, Object, http_date, reset

MANY = 100 << 20  # bytes: more than a client may keep of an object that it gets as a whole
PAUSE = 0.02      # seconds between the bytes of a trickle


def of_objects(fault):
    """Decorates a fault that leaves listings and errors as they are."""
    @functools.wraps(fault)
    def checked(exchange):
        is_object = isinstance(exchange.server.find(exchange.request.path), Object)
        return fault(exchange) if is_object else exchange.answer
    return checked


# Connections

def reset_before_headers(exchange):
    reset(exchange.connection)


def close_before_headers(_):
    raise Dropped


def _send_half(exchange):
    data = exchange.answer.data()
    exchange.request.status = exchange.answer.status
    exchange.connection.sendall(exchange.answer.head() + data[:len(data) // 2])
    exchange.request.sent = len(data) // 2


def reset_in_body(exchange):
    _send_half(exchange)
    time.sleep(0.05)  # a reset discards what the client has not yet received
    reset(exchange.connection)


def short_body(exchange):
    """Content-Length is larger than what is sent."""
    _send_half(exchange)
    raise Dropped


def stall_before_headers(exchange):
    exchange.wait_for_the_client_to_leave()


def stall_in_body(exchange):
    _send_half(exchange)
    exchange.wait_for_the_client_to_leave()


def trickle(exchange):
    """Fifty bytes a second, which is slower than a client should accept."""
    exchange.request.status = exchange.answer.status
    exchange.connection.sendall(exchange.answer.head())
    for byte in exchange.answer.data():
        exchange.connection.sendall(bytes([byte]))
        exchange.request.sent += 1
        exchange.server.wait(PAUSE)
    raise Dropped


def drop_after_answer(exchange):
    """The answer is right, but the server closes the connection without saying so."""
    exchange.server.send(exchange.connection, exchange.request, exchange.answer)
    raise Dropped


# Statuses

def status(number, headers=None, body=b""):
    """Returns the fault that answers with this status."""
    def fault(_):
        return Answer(number, headers, body)
    fault.__name__ = f"status_{number}"
    return fault


def s3_error(number, code, message="", more="", headers=None):
    """Returns the fault that answers with an error of S3."""
    def fault(_):
        return bucket.error(number, code, message or code, more, headers)
    fault.__name__ = code
    return fault


request_timeout = status(408)
too_many_requests = status(429, {"Retry-After": "1"})
retry_much_later = status(503, {"Retry-After": "86400"})
internal_error = status(500)
bad_gateway = status(502, body=b"<html>bad gateway</html>")
gateway_timeout = status(504)
forbidden = status(403)
unauthorized = status(401, {"WWW-Authenticate": 'Basic realm="x"'})
not_found = status(404)
gone = status(410)
teapot = status(418)
not_modified = status(304)
no_content = status(204)
slow_down = s3_error(503, "SlowDown", "Please reduce your request rate.")
access_denied = s3_error(403, "AccessDenied", "Access Denied")
expired_token = s3_error(400, "ExpiredToken", "The provided token has expired.")
invalid_object_state = s3_error(403, "InvalidObjectState", "The operation is not valid for the object's storage class")
no_such_key = s3_error(404, "NoSuchKey", "The specified key does not exist.")
no_such_bucket = s3_error(404, "NoSuchBucket", "The specified bucket does not exist")
wrong_region = s3_error(301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.",
                        headers={"x-amz-bucket-region": "ap-south-1"})


def malformed_error(_):
    return Answer(500, {"Content-Type": "application/xml"}, b"<Error><Code>Intern" + b"<a>" * 20000)


# Ranges

@of_objects
def whole_object(exchange):
    """200 with everything in answer to a request for a range."""
    found = exchange.server.find(exchange.request.path)
    headers = {name: value for name, value in exchange.answer.headers.items() if name != "Content-Range"}
    return Answer(200, headers, found.part(0, found.size))


@of_objects
def whole_object_of_unknown_length(exchange):
    answer = whole_object(exchange)
    answer.framing = "close"
    return answer


@of_objects
def endless_object(exchange):
    """200 with much more than anybody asked for."""
    answer = whole_object(exchange)
    answer.declared = MANY
    exchange.connection.sendall(answer.head())
    zeros = bytes(256 << 10)
    for _ in range(MANY // len(zeros)):
        exchange.connection.sendall(zeros)
        exchange.request.sent += len(zeros)
    return exchange.wait_for_the_client_to_leave()


@of_objects
def endless_chunks(exchange):
    """200 without a length, and without an end."""
    answer = whole_object(exchange)
    answer.framing = "chunked"
    exchange.connection.sendall(answer.head())
    zeros = bytes(256 << 10)
    while exchange.request.sent < 4 * MANY:
        exchange.connection.sendall(b"%x\r\n%b\r\n" % (len(zeros), zeros))
        exchange.request.sent += len(zeros)
    raise Dropped


def _content_range(exchange, change):
    """Changes the numbers of Content-Range: begin, last, total."""
    numbers = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", exchange.answer.headers.get("Content-Range", ""))
    if numbers:
        begin, last, total = change(*map(int, numbers.groups()))
        exchange.answer.headers["Content-Range"] = f"bytes {begin}-{last}/{total}"
    return exchange.answer


@of_objects
def wrong_start(exchange):
    """The bytes of another range, and Content-Range says so."""
    found = exchange.server.find(exchange.request.path)
    size = exchange.answer.size()
    exchange.answer.body = found.part(1, size) if found.size > size else b"\0" + exchange.answer.data()[:-1]
    return _content_range(exchange, lambda begin, last, total: (begin + 1, last + 1, total))


def wrong_total(exchange):
    return _content_range(exchange, lambda begin, last, total: (begin, last, total + 1000))


def total_below_end(exchange):
    return _content_range(exchange, lambda begin, last, total: (begin, last, last))


def total_unknown(exchange):
    return _content_range(exchange, lambda begin, last, total: (begin, last, "*"))


def huge_total(exchange):
    return _content_range(exchange, lambda begin, last, total: (begin, last, (1 << 63) - 1))


def overflowing_total(exchange):
    return _content_range(exchange, lambda begin, last, total: (begin, last, 1 << 70))


def no_content_range(exchange):
    exchange.answer.headers.pop("Content-Range", None)
    return exchange.answer


def malformed_content_range(exchange):
    exchange.answer.headers["Content-Range"] = "bytes 0-"
    return exchange.answer


def overlong_body(exchange):
    """More bytes than were asked for, and than Content-Range says."""
    exchange.answer.body = exchange.answer.data() + b"\xff" * 100_000
    return exchange.answer


def overlong_body_until_close(exchange):
    overlong_body(exchange).framing = "close"
    return exchange.answer


def no_last_chunk(exchange):
    """All bytes, and no end of the response."""
    data = exchange.answer.data()
    exchange.answer.framing = "chunked"
    exchange.connection.sendall(exchange.answer.head() + b"%x\r\n%b\r\n" % (len(data), data))
    return exchange.wait_for_the_client_to_leave()


def unsatisfiable(_):
    return Answer(416, {"Content-Range": "bytes */5"})


def unsatisfiable_without_total(exchange):
    """Refuses each range and does not tell the size, as some servers do for an empty object."""
    return Answer(416) if exchange.request.range else exchange.answer


@of_objects
def impossible_part(exchange):
    """206 for an object without bytes, as s3rver sends it."""
    return Answer(206, {**exchange.answer.headers, "Content-Range": "bytes 0-0/0"}, b"x") if exchange.request.range else exchange.answer


def empty_object(_):
    return Answer(416, {"Content-Range": "bytes */0", "ETag": '"empty"'})


def fewer_bytes(exchange):
    """A correct answer with the first half of the range, which HTTP allows."""
    data = exchange.answer.data()
    exchange.answer.body = data[:max(1, len(data) // 2)]
    return _content_range(exchange, lambda begin, last, total: (begin, begin + len(exchange.answer.body) - 1, total))


# Versions

@of_objects
def other_etag(exchange):
    """Each answer has another ETag, whatever the request's If-Match says."""
    found = exchange.server.find(exchange.request.path)
    exchange.request.headers.pop("if-match", None)
    answer = exchange.server.part(exchange.request, found)
    answer.headers["ETag"] = f'"{time.monotonic_ns()}"'
    return answer


def precondition_failed(_):
    return Answer(412)


def _without(*names):
    def fault(exchange):
        for name in names:
            exchange.answer.headers.pop(name, None)
        return exchange.answer
    return fault


only_last_modified = _without("ETag")
no_validators = _without("ETag", "Last-Modified")


def weak_etag(exchange):
    exchange.answer.headers["ETag"] = f"W/{exchange.answer.headers.get('ETag', '')}"
    return exchange.answer


def unquoted_etag(exchange):
    exchange.answer.headers["ETag"] = exchange.answer.headers.get("ETag", "").strip('"')
    return exchange.answer


def modified_just_now(exchange):
    """An object without an ETag that may change again within the same second."""
    exchange.answer.headers.pop("ETag", None)
    exchange.answer.headers["Last-Modified"] = http_date(time.time())
    return exchange.answer


# Forms

def encoding_in_capitals(exchange):
    exchange.answer.headers["Content-Encoding"] = "Identity"
    return exchange.answer


def gzip_encoding(exchange):
    exchange.answer.headers["Content-Encoding"] = "gzip"
    return exchange.answer


def chunked(exchange):
    exchange.answer.framing = "chunked"
    return exchange.answer


def http_1_0(exchange):
    exchange.answer.version, exchange.answer.framing = "HTTP/1.0", "close"
    return exchange.answer


def lower_case_headers(exchange):
    exchange.answer.headers = {name.lower(): value for name, value in exchange.answer.headers.items()}
    return exchange.answer


def huge_headers(exchange):
    """Headers of 1 MB."""
    for number in range(1000):
        exchange.answer.headers[f"X-Filler-{number}"] = "x" * 1000
    return exchange.answer


def huge_header_line(exchange):
    """One header of 200 KB."""
    exchange.answer.headers["X-Filler"] = "x" * 200_000
    return exchange.answer


def garbage(exchange):
    exchange.connection.sendall(b"\0\xff not http \r\n\r\n" * 100)
    raise Dropped


def informational(exchange):
    """Two answers with status 1xx before the final one."""
    exchange.connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 2)
    return exchange.answer


# Redirects

def redirect(target, number=302):
    """Returns the fault that redirects. `target`: a URL, or a function of the Exchange that returns it."""
    def fault(exchange):
        return Answer(number, {"Location": target(exchange) if callable(target) else target})
    fault.__name__ = f"redirect_{number}"
    return fault


redirect_loop = redirect(lambda exchange: exchange.server.origin + exchange.request.target)
relative_redirect_loop = redirect(lambda exchange: exchange.request.target, 307)
redirect_to_file = redirect("file:///etc/passwd")
redirect_to_metadata = redirect("http://169.254.169.254/latest/meta-data/")
redirect_to_other_scheme = redirect("ftp://127.0.0.1/x")
redirect_without_location = status(302)
redirect_to_nonsense = redirect("http://[::1")


def redirect_to(other, number=302, query=""):
    """Returns the fault that redirects to the same path of another server."""
    return redirect(lambda exchange: f"{other.origin}{quote(exchange.request.path)}{query}", number)


# Listings

def malformed_listing(exchange):
    exchange.answer.body = b"<ListBucketResult><Contents><Key>x</Contents>"
    return exchange.answer


def truncated_listing(exchange):
    exchange.answer.body = exchange.answer.data()[:exchange.answer.size() // 2]
    return exchange.answer


def html_listing(exchange):
    exchange.answer.body, exchange.answer.headers["Content-Type"] = b"<html><body><a href='x'>x</a></body></html>", "text/html"
    return exchange.answer


def deep_listing(exchange):
    exchange.answer.body = b"<a>" * 1_000_000 if exchange.answer.data()[:1] == b"<" else b"[" * 1_000_000
    return exchange.answer


def entities_in_listing(exchange):
    """A billion laughs."""
    entities = "".join(f'<!ENTITY e{number} "{f"&e{number - 1};" * 10}">' for number in range(1, 10))
    exchange.answer.body = f'<!DOCTYPE x [<!ENTITY e0 "lol">{entities}]><ListBucketResult><Name>&e9;</Name></ListBucketResult>'.encode()
    return exchange.answer


def endless_listing(exchange):
    exchange.answer.body = exchange.answer.data()[:1] + b" " * (40 << 20)
    return exchange.answer


def listing_that_does_not_advance(exchange):
    """Each page names the first one as the next one."""
    next_page = b"<NextContinuationToken>AA==</NextContinuationToken><IsTruncated>true"
    exchange.answer.body = exchange.answer.data().replace(b"<IsTruncated>false", next_page)
    return exchange.answer


def repeated_names(exchange):
    """Each file of nginx's listing twice."""
    if exchange.answer.headers.get("Content-Type") != "application/json":
        return exchange.answer
    rows = json.loads(exchange.answer.data())
    exchange.answer.body = json.dumps([*rows, *rows]).encode()
    return exchange.answer


def without_sizes(exchange):
    """Files have no sizes, neither in the listing of nginx nor in that of S3."""
    exchange.answer.body = re.sub(rb',\s*"size": \d+|<Size>\d+</Size>', b"", exchange.answer.data())
    return exchange.answer


def names_outside_the_directory(exchange):
    """Names that must not become paths."""
    data = exchange.answer.data()
    names = ("../../etc/passwd", "/etc/passwd", "..", ".", "", "a\0b", "x" * 5000)
    if data[:1] == b"[":
        rows = ",".join(f'{{"name":"{name}","type":"file","size":1}}'.replace("\0", "\\u0000") for name in names)
        exchange.answer.body = b"[" + rows.encode() + b"," + data[1:]
    else:
        prefix = quote(exchange.request.parameter("prefix"), safe="/")
        rows = "".join(f"<Contents><Key>{prefix}{quote(name, safe='/')}</Key><Size>1</Size></Contents>" for name in names)
        exchange.answer.body = data.replace(b"</ListBucketResult>", rows.encode() + b"</ListBucketResult>")
    return exchange.answer


for _name, _fault in list(globals().items()):
    if "<locals>" in getattr(_fault, "__qualname__", ""):
        _fault.__name__ = _name
