"""The invented log of a web shop: readable text for examples. Deterministic."""
import datetime
import random

START = datetime.datetime(2026, 3, 14, 9, 0, 0)
PAGES = ("/", "/cart", "/search?q=teapot", "/search?q=lamp", "/help/returns", "/about")
GOODS = ("teapot", "desk lamp", "wool blanket", "garden chair", "fountain pen")
FAILURES = ("card declined", "card expired", "bank does not answer")


def _web(picks, _):
    page = picks.choice(PAGES + tuple(f"/products/{n}" for n in range(100, 109)))
    return f"INFO  web-{picks.randint(1, 3)}: GET {page} 200 in {picks.randint(4, 90)} ms"


def _missing(picks, _):
    return f"WARN  web-{picks.randint(1, 3)}: GET /products/{picks.randint(900, 999)} 404 in {picks.randint(2, 9)} ms"


def _order(picks, number):
    return f"INFO  orders: order {number} accepted: {picks.randint(1, 4)} x {picks.choice(GOODS)}"


def _payment(_, number):
    return f"INFO  payments: order {number} paid"


def _failure(picks, number):
    return f"ERROR payments: order {number} not paid: {picks.choice(FAILURES)}"


def lines(count):
    """Returns `count` lines without their newlines, as bytes."""
    picks = random.Random(1)
    at, order, made = START, 4700, []
    for _ in range(count):
        at += datetime.timedelta(seconds=picks.randint(0, 7))
        kind = picks.choices((_web, _missing, _order, _payment, _failure), weights=(60, 4, 16, 15, 2))[0]
        order += kind is _order
        made.append(f"{at:%Y-%m-%d %H:%M:%S} {kind(picks, order)}".encode())
    return made
