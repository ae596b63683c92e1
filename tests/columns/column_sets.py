"""Random sets of columns, as records and as the rows that these mean.

A value of a row is None, a bool, a list, a dictionary of columns, or a text that begins with its kind: "i:" and a
decimal integer, "f:" and the bits of a double in hexadecimal or "nan", "s:" and a text, "b:" and bytes in hexadecimal.
"""
import json
import math
import random
import struct
from dataclasses import dataclass, field

import tfrecords
from tfrecords import varint

ENUM = {0: "ZERO", 1: "ONE", 2: "TWO"}
KINDS = {"double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "fixed64": 6, "fixed32": 7, "bool": 8, "string": 9,
         "message": 11, "bytes": 12, "uint32": 13, "enum": 14, "sfixed32": 15, "sfixed64": 16, "sint32": 17, "sint64": 18}
FIXED = {"double": (1, "<d"), "float": (5, "<f"), "fixed64": (1, "<Q"), "sfixed64": (1, "<q"), "fixed32": (5, "<I"),
         "sfixed32": (5, "<i")}
TEXTS = ("", "a", "label", "é", "日本語", "𝄞 clef", "x" * 70, "long " * 300, "\x00nul", "ÿ" * 33, "\U0010ffff", 'a,"b"\t\r\nc')
DOUBLES = (0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.25, 1e300, 5e-324, 0.1)
ABSENT = object()
NAMES = ("a", "b", "label", "Upper", "x_1")
JSON_NAMES = (*NAMES, "é", "日 本", "x.y", 'q"uote', "with space", "a,b", "len")


def tagged(kind, value):
    if value is None or kind == "bool":
        return value
    if kind in ("double", "float"):
        return "f:nan" if math.isnan(value) else "f:" + struct.pack(">d", value).hex()
    if kind == "bytes":
        return "b:" + value.hex()
    if kind == "string":
        return "s:" + value
    return "s:" + ENUM.get(value, str(value)) if kind == "enum" else f"i:{value}"


@dataclass
class Column:
    name: str
    kind: str
    repeats: bool
    has_presence: bool = True
    number: int = 0
    is_packed: bool = False
    missing: float = 0.0  # probability
    style: str = "any"    # "few": few different values
    most: int = 3         # items of a list
    inner_lists: int = 0  # around each item of a list of JSON
    columns: list = field(default_factory=list)  # of a message; none: it is True where it is present


class Generator:
    def __init__(self, seed):
        self._random = random.Random(seed)

    def columns(self, depth, kinds, names=NAMES):
        """Returns columns, of which some are messages or objects with at most `depth` levels below them."""
        draw, columns = self._random, []
        for i in range(draw.randint(1, 5)):
            column = Column(name=draw.choice(names) + str(i), kind=draw.choice(kinds), repeats=draw.random() < 0.35,
                            has_presence=draw.random() < 0.5, number=i + 1 + draw.randrange(2) * 20,
                            is_packed=draw.random() < 0.5, missing=draw.choice((0, 0, .2, .9, 1)),
                            style=draw.choice(("few", "any")), most=draw.choice((1, 3, 20)))
            if depth > 0 and draw.random() < 0.45:
                column.kind, column.has_presence = "message", True
                if draw.random() < 0.9:
                    column.columns = self.columns(depth - 1, kinds, names)
                if names is JSON_NAMES and column.columns:  # otherwise none may be present in any object
                    column.columns.append(Column(name="always", kind="bool", repeats=False))
            if names is JSON_NAMES:
                column.inner_lists = draw.choice((0, 0, 1, 2))
            columns.append(column)
        return columns

    def size(self, seed):
        return self._random.choice((0, 1, 7, 100, 400)) if seed % 20 else 3000

    def value(self, column):
        draw, kind, is_few = self._random, column.kind, column.style == "few"
        if kind in ("double", "float"):
            value = draw.choice((0.5, 1.0, -0.0) if is_few else (*DOUBLES, draw.gauss(0, 1)))
            if kind == "double" or not math.isfinite(value):
                return value
            return struct.unpack("<f", struct.pack("<f", value))[0] if abs(value) < 1e38 else math.inf
        if kind == "bool":
            return draw.random() < 0.5
        if kind == "string":
            return draw.choice(TEXTS[:4] if is_few else (*TEXTS, f"{draw.getrandbits(128):032x}"))
        if kind == "bytes":
            return draw.choice((b"", b"\xff\xfe", b"abc", draw.randbytes(draw.randrange(40)), bytes(100)))
        if kind == "enum":
            return draw.choice((0, 1, 2, 7, -1))
        bits = 32 if kind.endswith("32") else 64
        least, most = (0, 2 ** bits - 1) if kind.startswith(("u", "fixed")) else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)
        if is_few:
            return max(least, draw.randrange(-2, 3))
        return draw.choice((least, most, 0, 1, max(least, -1), draw.randint(least, most), max(least, draw.randint(-99, 99))))

    def is_missing(self, column):
        return self._random.random() < column.missing

    def count(self, column):
        return 0 if self.is_missing(column) else self._random.randrange(column.most + 1)

    # --- messages

    def message(self, columns):
        """Returns a message and its row."""
        encoded, row = b"", {}
        for column in columns:
            if column.repeats:
                taken = [self.item(column) for _ in range(self.count(column))]
                row[column.name] = [value for _, _, value in taken]
                if column.is_packed and taken and column.kind not in ("string", "bytes", "message"):
                    encoded += tfrecords.field(column.number, b"".join(content for _, content, _ in taken))
                else:
                    encoded += b"".join(varint(column.number << 3 | wire) + content for wire, content, _ in taken)
            elif self.is_missing(column):
                default = {"bool": False, "string": "", "bytes": b""}.get(column.kind, 0)
                row[column.name] = None if column.has_presence else tagged(column.kind, default)
            else:
                wire, content, row[column.name] = self.item(column)
                encoded += varint(column.number << 3 | wire) + content
        return encoded, row

    def item(self, column):
        """Returns the wire type of a value, its bytes, and the value in a row."""
        kind = column.kind
        if kind == "message":
            content, row = self.message(column.columns)
            return 2, varint(len(content)) + content, row if column.columns else True
        value = self.value(column)
        shown = tagged(kind, value)
        if kind in FIXED:
            wire, form = FIXED[kind]
            return wire, struct.pack(form, value), shown
        if kind in ("string", "bytes"):
            content = value.encode() if kind == "string" else value
            return 2, varint(len(content)) + content, shown
        return 0, varint(value * 2 if value >= 0 else -value * 2 - 1) if kind.startswith("sint") else varint(int(value)), shown

    # --- JSON

    def object(self, columns):
        """Returns an object, and its row. A value that is missing is absent or null."""
        members, row = {}, {}
        for column in columns:
            if self.is_missing(column):
                row[column.name] = ABSENT
                if self._random.random() < 0.5:
                    members[column.name] = row[column.name] = None
            else:
                members[column.name], row[column.name] = self.member(column, column.inner_lists + 1 if column.repeats else 0)
        return members, row

    def member(self, column, lists=0):
        if lists > 0:
            most = column.most if column.inner_lists == 0 and not column.columns else min(column.most, 2)
            is_null = [self._random.random() < 0.1 for _ in range(self._random.randrange(most + 1))]
            taken = [(None, None) if one else self.member(column, lists - 1) for one in is_null]
            return [member for member, _ in taken], [value for _, value in taken]
        if column.kind == "message":
            return self.object(column.columns) if column.columns else ({}, True)
        value = self.value(column)
        return value, tagged(column.kind, value)


def descriptors(columns):
    """Returns a set of descriptors in which t.Row has the columns."""
    enum = tfrecords.field(1, "E")
    for number, name in ENUM.items():
        enum += tfrecords.field(2, tfrecords.field(1, name) + tfrecords.field(2, number))
    file = b"".join(tfrecords.field(number, content) for number, content in (
        (1, "t.proto"), (2, "t"), (4, described("Row", "t.Row", columns)), (5, enum), (12, "proto3")))
    return tfrecords.field(1, file)


def described(name, path, columns):
    fields, nested, oneofs = b"", b"", []
    for i, column in enumerate(columns):
        one = [(1, column.name), (3, column.number), (4, 3 if column.repeats else 1), (5, KINDS[column.kind])]
        if column.kind == "message":
            one.append((6, f".{path}.M{i}"))
            nested += tfrecords.field(3, described(f"M{i}", f"{path}.M{i}", column.columns))
        elif column.kind == "enum":
            one.append((6, ".t.E"))
        if column.has_presence and not column.repeats and column.kind != "message":
            one += [(9, len(oneofs)), (17, 1)]
            oneofs.append(tfrecords.field(8, tfrecords.field(1, f"_{column.name}")))
        fields += tfrecords.field(2, b"".join(tfrecords.field(*part) for part in one))
    return tfrecords.field(1, name) + fields + nested + b"".join(oneofs)


# --- sets: (records, rows, descriptors or None)

def messages(seed):
    draw = Generator(seed)
    columns = draw.columns(seed % 4, [kind for kind in KINDS if kind != "message"])
    taken = [draw.message(columns) for _ in range(draw.size(seed))]
    return [record for record, _ in taken], [row for _, row in taken], descriptors(columns)


def objects(seed):
    """The columns are the members that are present, so the others are left out of the rows."""
    draw = Generator(seed)
    columns = draw.columns(seed % 4, ("int64", "double", "bool", "string"), JSON_NAMES)
    taken = [draw.object(columns) for _ in range(min(max(draw.size(seed), 1), 1024))]
    rows = [row for _, row in taken]
    only_present(rows)
    return [json.dumps(members).encode() for members, _ in taken], rows, None


def objects_in(value):
    """Returns the objects that a value is or has in lists."""
    if isinstance(value, list):
        return [one for item in value for one in objects_in(item)]
    return [value] if isinstance(value, dict) else []


def only_present(rows):
    """Removes members that are absent in all rows, and in all objects of a column."""
    for name in list(rows[0]) if rows else ():
        is_column = any(row[name] is not ABSENT for row in rows)
        only_present([one for row in rows for one in objects_in(row[name])])
        for row in rows:
            if not is_column:
                del row[name]
            elif row[name] is ABSENT:
                row[name] = None


def examples(seed):
    """A feature that has one value wherever it is present is a column of single values, and any other is a list."""
    draw = Generator(seed)
    columns = [*draw.columns(0, ("int64", "float", "bytes"), JSON_NAMES), Column(name="always", kind="int64", repeats=False)]
    records, rows, lists = [], [], set()
    for _ in range(min(max(draw.size(seed), 1), 1024)):
        features = {}
        for column in columns:
            if not draw.is_missing(column):
                features[column.name] = [draw.value(column) for _ in range(draw.count(column) if column.repeats else 1)]
        records.append(tfrecords.example(features))
        rows.append({column.name: [tagged(column.kind, item) for item in features.get(column.name, ())] for column in columns
                     if column.name in features})
        lists |= {name for name, items in features.items() if len(items) != 1}
    present = {name for row in rows for name, items in row.items() if items or name in lists}
    return records, [{name: row.get(name) if name in lists else (row.get(name) or [None])[0] for name in sorted(present)}
                     for row in rows], None
