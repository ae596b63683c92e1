#!/usr/bin/env python3
"""Columns inside messages, objects and lists, by paths, beside an evaluation in Python."""
import csv
import io
import json
import random

import commands
from tfrecords import tfrecord

# Paths, the names in them, and whether they lead through a list or to one.
PATHS = {"a": (("a",), False), "a.b": (("a", "b"), False), "a.c.d": (("a", "c", "d"), False), "a.c": (("a", "c"), False),
         "a.c.e": (("a", "c", "e"), True), "l.x": (("l", "x"), True), "l.y.z": (("l", "y", "z"), True),
         "l.y": (("l", "y"), True), "l.w": (("l", "w"), True), "q.r": (("q.r",), False), "o.p.q.r": (("o", "p.q", "r"), False)}
LISTS = {("l",), ("l", "w"), ("a", "c", "e")}


def maybe(chance, **members):
    return {name: value for name, value in members.items() if value is not None and chance.random() < 0.6}


def document(chance):
    """Returns an object with any of the members of PATHS."""
    item = lambda: maybe(chance, x=chance.randrange(9), y=maybe(chance, z=chance.random()),
                         w=[chance.randrange(9) for _ in range(chance.randrange(3))])
    deep = maybe(chance, d=chance.choice(("é", "", "b,\"")), e=[chance.randrange(9) for _ in range(chance.randrange(3))])
    made = maybe(chance, a=maybe(chance, b=chance.randrange(9), c=deep), l=[item() for _ in range(chance.randrange(4))],
                 o=maybe(chance, **{"p.q": maybe(chance, r=chance.randrange(9))}), s=chance.randrange(9))
    return made | maybe(chance, **{"q.r": chance.randrange(9)})


def value_at(value, names, at=()):
    """Returns the value, None if there is none, or the values in a list."""
    if isinstance(value, list) and names:
        found = [value_at(item, names, at) for item in value]
        return [one for part in found for one in (part if isinstance(part, list) else [part])]
    if not names:
        return value if value is not None or at not in LISTS else []
    inside = value.get(names[0]) if isinstance(value, dict) else None
    return value_at(inside, names[1:], at + names[:1])


def without_missing(value):
    """Returns a value without members that are null or empty, which tables have in any struct."""
    if isinstance(value, dict):
        return {name: inner for name, one in value.items() if (inner := without_missing(one)) not in (None, [], {})}
    return [without_missing(one) for one in value] if isinstance(value, list) else value


class Paths(commands.Case):
    def setUp(self):
        super().setUp()
        chance = random.Random(1)
        self.documents = [document(chance) for _ in range(1500)]
        self.file = self.written("a.tfrecord", self.documents)

    def written(self, name, documents):
        (self.folder / name).write_bytes(tfrecord([json.dumps(one).encode() for one in documents]))
        return self.folder / name

    def expected(self, path):
        """Returns the value of each record; of one that no record lacks, an empty list."""
        names, is_list = PATHS[path]
        values = [value_at(one, names) for one in self.documents]
        return [without_missing(value) or ([] if is_list else value) for value in values] if is_list else values

    def exported(self, *words, file=None):
        return self.good("export", file or self.file, *words, "-o", "-")

    def same(self, path, value, expected, where):
        if isinstance(expected, (dict, list)) or isinstance(value, (dict, list)):
            empty = [] if PATHS[path][1] else {}
            self.assertEqual(without_missing(value) or empty, without_missing(expected) or empty, (path, where))
        else:
            self.assertEqual(value, expected, (path, where))

    def test_paths_are_columns_of_their_names(self):
        chance = random.Random(2)
        for _ in range(8):
            paths = chance.sample(sorted(PATHS), chance.randrange(1, 5))
            wanted = [self.expected(path) for path in paths]
            rows = [json.loads(line) for line in self.exported("--to", "jsonl", "--select", ",".join(paths)).splitlines()]
            self.assertEqual(len(rows), len(self.documents))
            for i, row in enumerate(rows):
                self.assertLessEqual(row.keys(), set(paths))
                for path, values in zip(paths, wanted):
                    self.same(path, row.get(path), values[i], i)
            header, *cells = csv.reader(io.StringIO(self.exported("--to", "csv", "--select", ",".join(paths)).decode(), newline=""))
            self.assertEqual(header, paths)
            for i, row in enumerate(cells):
                for path, cell, values in zip(paths, row, wanted):
                    is_text = path == "a.c.d"
                    value = (cell if values[i] is not None else cell or None) if is_text else json.loads(cell or "null")
                    self.same(path, value, values[i], i)

    def test_conditions_take_the_same_paths(self):
        for condition, holds in (("a.b = 3", lambda one: value_at(one, ("a", "b")) == 3),
                                 ("l.x in (3, 4)", lambda one: {3, 4} & set(value_at(one, ("l", "x")) or ())),
                                 ("o.p.q.r > 4 or q.r < 2", lambda one: (value_at(one, ("o", "p.q", "r")) or 0) > 4
                                  or one.get("q.r", 9) < 2)):
            rows = self.exported("--to", "csv", "--select", "a.b,s", "--where", condition).splitlines()
            self.assertEqual(len(rows) - 1, sum(bool(holds(one)) for one in self.documents), condition)

    def test_values_that_are_not_wanted_may_have_any_type(self):
        file = self.written("b.tfrecord", [{"a": {"b": 1, "c": [[1]]}, "e": 1}, {"a": {"b": 2, "c": "x"}, "e": "x"}, {"a": 5}])
        self.assertEqual(self.exported("--to", "csv", "--select", "a.b", file=file), b'a.b\r\n1\r\n2\r\n""\r\n')
        self.assert_ends(commands.PARTLY_DONE, "column a has values of different types", "export", file, "--to", "csv", "--select", "a", "-o", "-")
        self.assert_ends(commands.PARTLY_DONE, r"types \(try: --to jsonl, --select ordinal,data\)", "export", file, "--to", "csv", "-o", "-")
        for words in (["--to", "jsonl"], ["--to", "csv", "--select", "ordinal,data"]):
            self.assertEqual(len(self.exported(*words, file=file).splitlines()) // 3, 1, words)

    def test_name_of_two_columns_is_an_error(self):
        file = self.written("c.tfrecord", [{"a.b": 1, "a": {"b": 2, "b.c": 3}, "a.b ": {"c": 4}}])
        self.assertEqual(self.exported("--to", "jsonl", "--select", "a.b.c", file=file), b'{"a.b.c":3}\n')
        for form in ("csv", "jsonl"):
            self.assert_ends(commands.PARTLY_DONE, "a.b names several columns", "export", file, "--to", form, "--select", "a.b", "-o", "-")
        file = self.written("d.tfrecord", [{"a": {"b.c": 3}, "a.b": {"c": 4}}])
        self.assert_ends(commands.PARTLY_DONE, "several columns", "export", file, "--to", "csv", "--select", "a.b.c", "-o", "-")

    def test_messages_of_their_own_types_are_no_columns_of_tables(self):
        events = commands.sample("proio/c03-example-none.proio")
        for path in ("entries", "entries.decoded.pdg", "entries.type"):
            for form in ("csv", "jsonl"):
                self.assert_ends(commands.PARTLY_DONE, "column entries has messages of types of their own", "export", events, "--to",
                                 form, "--select", path, "-o", "-")
        self.assertEqual(self.exported("--to", "csv", "--select", "tags.Hits,entries.id", file=events).splitlines()[1],
                         b'[1],"[1,2,3,4]"')
        rows = [json.loads(line) for line in self.exported("--to", "jsonl", "--where", "entries.decoded.pdg = -2740", file=events).splitlines()]
        self.assertTrue(all(-2740 in (one["decoded"].get("pdg") for one in row["entries"]) for row in rows) and rows)

    def test_paths_to_nothing_are_errors(self):
        for path in ("a.x", "a.b.x", "l.y.x", "q.r.x", "a.", ".a", "x.a"):
            self.assert_ends(commands.PARTLY_DONE, "no column", "export", self.file, "--to", "csv", "--select", path, "-o", "-")


if __name__ == "__main__":
    commands.main()
