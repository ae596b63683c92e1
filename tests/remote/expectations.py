"""What each fault of faults.py must lead to, in commands and in mounts. faults_test.py injects them."""
from typing import NamedTuple

import faults

GOOD = ""         # the right answer
ALL = "all"       # the fault is injected into every request,
FIRST = "first"   # into the first one,
LATER = "later"   # or into every one but the first


class Expected(NamedTuple):
    """Outcomes: GOOD, a regex that the message of a failure must match, or ("or good", such a regex).

    With the fault in the first request, in all requests, and in all but the first.
    """

    first: object
    all: object
    later: object
    recovers: bool = True  # a mount, once the fault is over


def good():
    return Expected(GOOD, GOOD, GOOD)


def passing(message):
    """A fault that a second try overcomes, if it has gone."""
    return Expected(GOOD, message, message)


def slowed(message):
    """A fault with which each request gets some bytes further, so that it may succeed in the end."""
    return Expected(GOOD, maybe(message), maybe(message))


def final(message):
    """A fault that is not tried again. Where it is, that is no mistake."""
    return Expected(maybe(message), message, message)


def maybe(message):
    return ("or good", message)


def changed(first=GOOD):
    """Answers that show that there is another object now. With one request, there is nothing to compare."""
    return Expected(first, maybe(CHANGED), maybe(CHANGED), recovers=False)


TIMEOUT = r"timed out|stalled|too slow|no success within"
RANGE = r"range|Content-Range|in place of"
CHANGED = r"changed|contradict|has replaced files"

TABLE = {
    # Connections
    faults.reset_before_headers: passing(rf"reset|closed|{TIMEOUT}"),
    faults.close_before_headers: passing(rf"closed|reset|[Ee]mpty reply|{TIMEOUT}"),
    faults.reset_in_body: slowed(rf"reset|closed|{TIMEOUT}"),
    faults.short_body: slowed(rf"closed|reset|short|truncated|ended|{TIMEOUT}"),
    faults.stall_before_headers: Expected(maybe(TIMEOUT), TIMEOUT, TIMEOUT),
    faults.stall_in_body: Expected(maybe(TIMEOUT), maybe(TIMEOUT), maybe(TIMEOUT)),
    faults.trickle: Expected(maybe(TIMEOUT), maybe(TIMEOUT), maybe(TIMEOUT)),
    faults.drop_after_answer: good(),
    # Statuses
    faults.request_timeout: passing(rf"408|{TIMEOUT}"),
    faults.too_many_requests: passing(rf"429|{TIMEOUT}"),
    faults.retry_much_later: Expected(maybe("503"), "503", "503"),
    faults.internal_error: passing("500"),
    faults.bad_gateway: passing("502"),
    faults.slow_down: passing("503|SlowDown|reduce your request rate"),
    faults.gateway_timeout: passing(rf"504|{TIMEOUT}"),
    faults.malformed_error: passing("500"),
    faults.forbidden: final(r"403|[Dd]enied|Forbidden"),
    faults.access_denied: final(r"403|[Dd]enied|Forbidden"),
    faults.unauthorized: final(r"401|[Dd]enied|Unauthorized"),
    faults.not_found: final(r"404|No such file|changed"),
    faults.gone: final(r"410|No such file|changed"),
    faults.teapot: final("418"),
    faults.not_modified: final("304"),
    faults.no_content: final("204"),
    # Ranges
    faults.whole_object: good(),
    faults.whole_object_of_unknown_length: Expected(maybe(r"range|length|200"), r"range|length|200", maybe(r"range|length|200|changed")),
    faults.endless_object: Expected(maybe(r"range|200|large|size"), r"range|200|large|size", maybe(r"range|200|large|size|changed")),
    faults.endless_chunks: Expected(maybe(r"range|length|200"), r"range|length|200", maybe(r"range|length|200|changed")),
    faults.wrong_start: Expected(maybe(RANGE), RANGE, RANGE),
    faults.wrong_total: changed(maybe(CHANGED)),
    faults.total_below_end: Expected(maybe(rf"{RANGE}|changed"), rf"{RANGE}|changed", rf"{RANGE}|changed", recovers=False),
    faults.total_unknown: Expected(maybe(rf"{RANGE}|size"), rf"{RANGE}|size", maybe(rf"{RANGE}|size|changed"), recovers=False),
    faults.overflowing_total: Expected(maybe(rf"{RANGE}|size|large"), rf"{RANGE}|size|large", rf"{RANGE}|size|large|changed",
                                       recovers=False),
    faults.no_content_range: Expected(maybe(RANGE), RANGE, RANGE),
    faults.malformed_content_range: Expected(maybe(RANGE), RANGE, RANGE),
    faults.overlong_body: Expected(maybe(rf"{RANGE}|long|more"), maybe(rf"{RANGE}|long|more"), maybe(rf"{RANGE}|long|more")),
    faults.overlong_body_until_close: Expected(maybe(rf"{RANGE}|long|more"), maybe(rf"{RANGE}|long|more"), maybe(rf"{RANGE}|long|more")),
    faults.unsatisfiable: Expected(maybe(rf"416|changed|{RANGE}"), rf"416|changed|{RANGE}", rf"416|changed|{RANGE}", recovers=False),
    faults.unsatisfiable_without_total: Expected(GOOD, maybe(RANGE), RANGE),
    faults.impossible_part: Expected(GOOD, maybe(RANGE), RANGE),
    faults.fewer_bytes: slowed(r"closed before the end"),
    # Versions
    faults.other_etag: changed(maybe(CHANGED)),
    faults.precondition_failed: Expected(maybe("412|changed"), "412|changed", "412|changed", recovers=False),
    faults.only_last_modified: Expected(maybe(CHANGED), GOOD, maybe(CHANGED), recovers=False),
    faults.no_validators: Expected(maybe(CHANGED), maybe(CHANGED), maybe(CHANGED), recovers=False),
    faults.weak_etag: Expected(maybe(CHANGED), GOOD, maybe(CHANGED), recovers=False),
    faults.unquoted_etag: Expected(maybe(CHANGED), GOOD, maybe(CHANGED), recovers=False),
    faults.modified_just_now: Expected(maybe(CHANGED), maybe(CHANGED), maybe(CHANGED), recovers=False),
    # Forms
    faults.gzip_encoding: final(r"gzip|[Ee]ncod"),
    faults.chunked: good(),
    faults.encoding_in_capitals: good(),
    faults.http_1_0: good(),
    faults.lower_case_headers: good(),
    faults.informational: good(),
    faults.huge_headers: final(r"[Hh]eader"),
    faults.huge_header_line: final(r"[Hh]eader"),
    faults.garbage: Expected(maybe(r"HTTP|protocol|answer|response"), r"HTTP|protocol|answer|response", r"HTTP|protocol|answer|response"),
    # Redirects
    faults.redirect_loop: final("redirect"),
    faults.relative_redirect_loop: final("redirect"),
    faults.redirect_to_file: final("redirect"),
    faults.redirect_to_metadata: final(r"redirect|address"),
    faults.redirect_to_other_scheme: final("redirect"),
    faults.redirect_without_location: final("redirect|302"),
    faults.redirect_to_nonsense: final("redirect"),
}
