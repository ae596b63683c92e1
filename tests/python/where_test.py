#!/usr/bin/env python3
"""Dataset.where: against a naive evaluator, as a view, and with conditions that do not fit the records."""
import random
import re
import struct

import cases
import recordfs
from arrow_consumer import rows
from tfrecords import example, tfrecord

EXPRESSIONS = 2000
FILES = 20
NAMES = ("i", "f", "t", "a b")
INTEGERS = [0, 1, -1, 2, 3, 7, 2**53, 2**53 + 1, 2**63 - 1, -2**63, 2**62 + 1]
FLOATS = [0.0, -0.0, 0.5, 0.1, 1.0, 3.0, float(2**53), 2.0**63, -2.0**63, float("inf"), float("nan"), 1e-7, 2.0**30]
TEXTS = ["", "a", "b", "cat", "cart", "a\nb", "it's", "\"q\"", "é", "aa", "3"]
PATTERNS = ["^a", "a$", "c.*t", "[ab]+", "^$", "x|t", "(a)(b)?", "é", "\\d", "t's"]


class Float32:
    """A float, which equals its exact value and the number with its shortest digits."""

    def __init__(self, number):
        self.exact = struct.unpack("<f", struct.pack("<f", number))[0]
        digits = (float(f"{self.exact:.{count}g}") for count in range(1, 10))
        same = [shown for shown in digits if abs(shown) < 3e38 and struct.pack("<f", shown) == struct.pack("<f", self.exact)]
        self.shown = same[0] if same else self.exact
        # A whole number is shown with all digits, unless its shortest digits and an exponent take fewer characters.
        if self.exact.is_integer() and len(str(int(self.exact))) <= len(str(self.shown)):
            self.shown = self.exact

    def __eq__(self, other):
        return other in (self.exact, self.shown)

    def __ne__(self, other):
        return not self == other

    def __lt__(self, other):
        return self.exact < other and self != other

    def __le__(self, other):
        return self.exact < other or self == other

    def __gt__(self, other):
        return self.exact > other and self != other

    def __ge__(self, other):
        return self.exact > other or self == other


def made_records(rng):
    """Returns dicts of lists."""
    records = []
    for _ in range(40):
        values = {"i": rng.choices(INTEGERS, k=rng.choice([0, 1, 1, 2])), "f": rng.choices(FLOATS, k=rng.choice([0, 1, 1, 3])),
                  "t": rng.choices(TEXTS, k=rng.choice([0, 1, 1, 2])), "a b": rng.choices(INTEGERS, k=1)}
        records.append({name: list(of) for name, of in values.items()})
    # Each field has a value somewhere.
    records[0] = {"i": [3], "f": [0.5], "t": ["cat"], "a b": [1]}
    return records


def quoted(rng, text):
    quote = rng.choice("'\"")
    return quote + text.replace(quote, quote * 2) + quote


def number(rng):
    """Returns a number as text, and its exact value."""
    if rng.random() < 0.6:
        value = rng.choice([*INTEGERS, 2**63, 2**64 - 1])
        return str(value), value
    text = rng.choice(["0.5", "3.0", ".1", "9007199254740993.0", "1e0", "9.223372036854775808e18", "9.223372e18", "-9.3e18", "+2", "1e-7", "1073741824",
                       "1.0737418e9"])
    return text, int(text) if text.isdigit() else float(text)


OPERATORS = {"=": lambda a, b: a == b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<>": lambda a, b: a != b,
             "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


def made_term(rng):
    """Returns a term as text, and a function of a record."""
    name = rng.choice(NAMES)
    shown = rng.choice(["`a b`", '"a b"']) if name == "a b" else rng.choice([name, name, f"`{name}`"])
    kind = rng.choice(["value", "value", "value", "in", "null", "len", "count"])
    if kind == "null":
        negated = rng.random() < 0.5
        return f"{shown} is {'not ' if negated else ''}null", lambda record: bool(record[name]) == negated
    if kind in ("len", "count"):
        sign, (text, wanted) = rng.choice(list(OPERATORS)), rng.choice([("0", 0), ("1", 1), ("2", 2), ("3.0", 3), ("1.5", 1.5)])

        def sizes(record):
            values = record[name]
            if kind == "len" and name == "t" and values:
                return [len(value.encode()) for value in values]
            return [len(values)]
        return f"{kind}({shown}) {sign} {text}", lambda record: any(OPERATORS[sign](size, wanted) for size in sizes(record))
    if kind == "in":
        chosen = [(quoted(rng, text), text) for text in rng.sample(TEXTS, 2)] if name == "t" else [number(rng) for _ in range(3)]
        negated = rng.random() < 0.3
        listed = ", ".join(text for text, _ in chosen)
        wanted = [value for _, value in chosen]
        return (f"{shown} {'not ' if negated else ''}in ({listed})",
                lambda record: any((value in wanted) != negated for value in record[name]))
    if name == "t" and rng.random() < 0.5:
        pattern, sign = rng.choice(PATTERNS), rng.choice(["~", "!~"])
        found = re.compile(pattern, re.M | re.S)
        return (f"{shown} {sign} {quoted(rng, pattern)}",
                lambda record: any(bool(found.search(value)) == (sign == "~") for value in record[name]))
    sign = rng.choice(list(OPERATORS))
    if name == "t":
        text = rng.choice(TEXTS)
        return f"{shown} {sign} {quoted(rng, text)}", lambda record: any(OPERATORS[sign](value.encode(), text.encode()) for value in record[name])
    shown_number, wanted = number(rng)
    return f"{shown} {sign} {shown_number}", lambda record: any(OPERATORS[sign](value, wanted) for value in record[name])


def made_condition(rng, depth=0):
    kind = rng.choice(["term", "term", "not", "and", "or", "()"]) if depth < 4 else "term"
    if kind == "term":
        return made_term(rng)
    one, holds = made_condition(rng, depth + 1)
    if kind == "not":
        return f"not ({one})", lambda record: not holds(record)
    if kind == "()":
        return f"( {one} )", holds
    other, too = made_condition(rng, depth + 1)
    both = all if kind == "and" else any
    return f"({one}) {rng.choice([kind, kind.upper()])} ({other})", lambda record: both((holds(record), too(record)))


class Where(cases.Case):
    def opened(self, records):
        path = self.folder / "records.tfrecord"
        path.write_bytes(tfrecord([example({name: [value.encode() if isinstance(value, str) else value for value in values]
                                            for name, values in record.items()}) for record in records]))
        return recordfs.open(str(path))

    def test_random_conditions_select_what_a_naive_evaluator_selects(self):
        rng = random.Random(36)
        selected = 0
        for _ in range(FILES):
            records = made_records(rng)
            shown = [{**record, "f": [Float32(value) for value in record["f"]]} for record in records]
            dataset = self.opened(records)
            for _ in range(EXPRESSIONS // FILES):
                condition, holds = made_condition(rng)
                expected = [ordinal for ordinal, record in enumerate(shown) if holds(record)]
                self.assertEqual(dataset.where(condition)._rows, expected, condition)
                selected += len(expected)
        self.assertGreater(selected, EXPRESSIONS)

    def test_result_is_a_view(self):
        dataset = self.opened([{"i": [number % 7], "t": ["x" * number]} for number in range(100)])
        view = dataset.where("i = 3")
        expected = [dataset[ordinal] for ordinal in range(3, 100, 7)]
        self.assertEqual((len(view), list(view)), (14, expected))
        self.assertEqual(list(view[1:3]), expected[1:3])
        self.assertEqual(sorted(view.shuffled(1)), sorted(expected))
        self.assertEqual(bytes(next(view.batches(99))[0]), b"".join(expected))
        self.assertEqual(list(view.where("len(t) > 50")), expected[7:])
        self.assertEqual(list(dataset[10:20].where("i = 3")), [dataset[10], dataset[17]])
        self.assertEqual(list(dataset[::-1].where("i = 3")), expected[::-1])
        self.assertEqual(list(dataset.where("i = 9")), [])

    def test_arrow_has_the_ordinals_and_addresses_of_selected_records(self):
        dataset = self.opened([{"i": [number % 7]} for number in range(100)])
        view = dataset.where("i = 3")
        found, error = rows(view)
        self.assertIsNone(error)
        self.assertEqual([row["ordinal"] for row in found], list(range(3, 100, 7)))
        self.assertEqual([row["data"] for row in found], list(view))
        self.assertEqual([dataset.at(row["offset"], row["index"]) for row in found], list(view))

    def test_condition_that_does_not_fit_is_an_error(self):
        dataset = self.opened([{"label": [1]}])
        for condition, error in (("labl = 1", "no record has a field labl .did you mean label"),
                                 ("label = '1'", "label = '1': no value"), ("label = x", r"in quotes.*\n  label = x\n          \^")):
            with self.assertRaisesRegex(ValueError, error):
                dataset.where(condition)
        with self.assertRaisesRegex(ValueError, r"`and`, `or` or the end is expected\n  label = 2\) or \(label = 1\n"):
            dataset.where("label = 1").where("label = 2) or (label = 1")
        (self.folder / "text.tfrecord").write_bytes(tfrecord([b"text"]))
        with self.assertRaisesRegex(recordfs.UnsupportedError, "1 record cannot be decoded"):
            recordfs.open(str(self.folder / "text.tfrecord")).where("label = 1")
        both = recordfs.open([self.write("a.tfrecord", [example({"label": [1]})]), str(self.folder / "text.tfrecord")])
        with self.assertRaisesRegex(recordfs.UnsupportedError, "^.*/text.tfrecord: 1 record cannot be decoded"):
            both.where("label = 1")
        skipping = recordfs.open(str(self.folder / "text.tfrecord"), on_damage="skip")
        self.assertEqual(list(skipping.where("label = 1")), [])


if __name__ == "__main__":
    cases.main()
