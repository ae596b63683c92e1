"""Random scripts for the programs that drive engines, over the table of options in options.txt."""
import random
import re
import struct
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).resolve().parent / "options.txt"
_CHOICE = re.compile(r"(?P<value>.*?)(\*(?P<times>\d+))?(>=(?P<since>[\d.]+))?(<(?P<until>[\d.]+))?")
_COMPRESSION = re.compile(r"\bk\w+Compression\b|\bkZSTD\b")
DUMP = "dump"


class Engine(NamedTuple):
    """An engine as its program's --version describes it."""

    name: str
    version: tuple
    compressions: frozenset

    @classmethod
    def parse(cls, text):
        name, version, *compressions = text.split()
        return cls(name, numbers(version), frozenset(compressions))


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def lines_of_table():
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if words := line.partition("#")[0].split():
            yield words


def choices_of(words, engine):
    """Returns the values that an engine knows."""
    values = []
    for word in words:
        found = _CHOICE.fullmatch(word)
        value = found["value"]
        if found["since"] and engine.version < numbers(found["since"]):
            continue
        if found["until"] and engine.version >= numbers(found["until"]):
            continue
        named = set(_COMPRESSION.findall(value.replace("zstd_", "kZSTD ")))
        if engine.compressions and not named <= engine.compressions:
            continue
        values += [value] * int(found["times"] or 1)
    return values


class Options:
    """The options of one database: of the engine, and ("use") of the script."""

    def __init__(self, engine, choices):
        self.values = {}
        rules = []
        for first, *words in lines_of_table():
            if first == "rule":
                rules.append(words)
            elif first in ("*", engine.name):
                scope, name, *rest = words
                if values := choices_of(rest, engine):
                    self.values[f"{scope}.{name}"] = choices.choice(values)
        for condition, effect in rules if engine.name == "rocksdb" else []:
            if self._holds(condition):
                name, _, value = effect.partition("=")
                self.values[name] = value

    def _holds(self, condition):
        name, _, wanted = condition.partition("=")
        value = self.values.get(name, "-")
        return value != "-" if wanted == "*" else value in wanted.split(",")

    def use(self, name, default="no"):
        return self.values.get(f"use.{name}", default)

    def uses(self, name):
        return self.use(name) == "yes"

    def get(self, name):
        value = self.values.get(name, "-")
        return None if value == "-" else value

    def unusual(self):
        """Returns the options that are most often the reason of a difference."""
        names = ("write_policy", "comparator", "wal_dir", "db_paths", "cf_paths", "merge_operator", "format_version",
                 "index_type", "recycle_log_file_num", "separate_key_value_in_data_block", "use_delta_encoding")
        used = [name[4:] for name in self.values if name.startswith("use.") and self.values[name] == "yes"]
        return " ".join([f"{name.partition('.')[2]}={value}" for name, value in self.values.items()
                         if value != "-" and name.partition(".")[2] in names] + used)

    def lines(self):
        """Returns the lines of a script that set the engine's options."""
        return [f"set {name.replace('.', ' ', 1)} {value}" for name, value in self.values.items()
                if value != "-" and not name.startswith("use.")]


def word(data):
    return "x" + data.hex()


class Writer:
    """Writes the random lines of a script."""

    def __init__(self, engine, seed):
        self.engine, self.choices = engine, random.Random(f"{engine.name} {seed}")
        self.options = Options(engine, self.choices)
        self.families = ["default"]
        self.next_family = self.next_single = self.next_transaction = 1
        self.time = 1
        self.has_times = "u64ts" in (self.options.get("cf.comparator") or "")
        self.has_transactions = self.options.get("transactions.write_policy") is not None
        self.operator = self.options.get("cf.merge_operator")
        self.open = {}  # transactions: {name: lines that were written}
        self.is_pinned = False

    def once_in(self, times):
        return self.choices.randrange(times) == 0

    def key(self):
        number = self.choices.randrange(int(self.options.use("keys")))
        if number % 97 == 13:
            return b"\0\x01\xff\\ \n%d" % number
        if number % 89 == 7:
            return b"kk"[self.choices.randrange(3):]  # also the empty key
        return (b"user/%06d" if number % 3 == 0 else b"a-longer-prefix-of-keys/%06d") % number

    def value(self):
        size = self.choices.randrange(20000 if self.once_in(20) else 600 if self.once_in(3) else 60)
        if self.once_in(3):
            return self.choices.randbytes(size)
        return (b"the same words again and again " * (size // 30 + 1))[size % 7:][:size]

    def operand(self):
        if self.operator == "UInt64AddOperator" and not self.once_in(8):
            return struct.pack("<Q", self.choices.randrange(1 << 40))
        return self.value()

    def stamp(self):
        """Returns the timestamp of the next write, as a word."""
        if not self.has_times:
            return ""
        self.time += self.choices.randrange(3)
        return f" @{self.time}"

    def family(self):
        return self.choices.choice(self.families)

    def write(self, family):
        """Returns the line of one write."""
        options = self.options
        key = word(self.key())
        if options.uses("ranges") and self.once_in(25):
            return self.range_line(f"delete_range {family}") + self.stamp()
        if options.uses("merges") and self.once_in(6):
            return f"merge {family} {key} {word(self.operand())}"
        if options.uses("entities") and self.once_in(5):
            return f"entity {family} {key} {self.columns()}"
        if self.once_in(5):
            return f"delete {family} {key}" + self.stamp()
        value = self.operand() if options.uses("merges") else self.value()
        return f"put {family} {key} {word(value)}" + self.stamp()

    def range_line(self, beginning):
        from_key, to_key = sorted((self.key(), self.key()), key=self.order())
        return f"{beginning} {word(from_key)} {word(to_key)}"

    def order(self):
        """Returns the sort key of a user key, in the database's order."""
        comparator = self.options.get("cf.comparator") or ""
        if "Reverse" in comparator:
            return lambda key: tuple(-byte for byte in key) + (1,)  # a prefix is after its continuations
        return (lambda key: (len(key), key)) if comparator == "by_length" else (lambda key: key)

    def columns(self):
        names = self.choices.sample([b"", b"a", b"name", b"\0\xff", b"z" * 40], self.choices.randrange(1, 5))
        return " ".join(f"{word(name)}={word(self.value())}" for name in sorted(names))

    def single_delete(self, family):
        """A key of single deletions is written once."""
        key = word(b"single/%d" % self.next_single)
        self.next_single += 1
        lines = [f"put {family} {key} {word(self.value())}"]
        lines += [f"flush {family}"] if self.once_in(3) else []
        return lines + ([] if self.once_in(3) else [f"single_delete {family} {key}"])

    def batch(self):
        lines = [self.write(self.family()) for _ in range(self.choices.randrange(1, 30))]
        lines += ["log_data x6f66"] if self.engine.name == "rocksdb" and not self.has_transactions and self.once_in(5) else []
        return [f"batch {len(lines)}", *lines]

    def ingest(self):
        keys = sorted({self.key() for _ in range(20)})
        kinds = ["put"] * 6 + ["delete"] + ["merge"] * self.options.uses("merges")
        lines = []
        for key in keys:
            kind = self.choices.choice(kinds)
            lines.append(f"{kind} {word(key)}" + ("" if kind == "delete" else f" {word(self.operand())}"))
        if self.options.uses("ranges") and self.once_in(2):
            lines.append(self.range_line("delete_range"))
            if lines[-1].split()[1] == lines[-1].split()[2]:
                lines.pop()
        how = " write_global_seqno" if self.once_in(2) else ""
        return [f"ingest {self.family()} {len(lines)}{how}", *lines]

    def transaction(self):
        """Lines that begin a transaction, or write in one, or end one."""
        if len(self.open) < 3 and (not self.open or self.once_in(4)):
            name = f"t{self.next_transaction}"
            self.next_transaction += 1
            self.open[name] = "open"
            return [f"begin {name}"]
        name = self.choices.choice(sorted(self.open))
        if self.open[name] == "open" and not self.once_in(5):
            kind = self.choices.choice(["put", "put", "delete"] + ["merge"] * self.options.uses("merges"))
            value = "" if kind == "delete" else f" {word(self.operand())}"
            return [f"in {name} {kind} {self.family()} {word(self.key())}{value}"]
        if self.open[name] == "open" and not self.once_in(3):
            self.open[name] = "prepared"
            return [f"end {name} prepare"]
        del self.open[name]
        return [f"end {name} {self.choices.choice(['commit', 'commit', 'rollback'])}"]

    def compaction(self):
        if self.once_in(2):
            return [f"compact {self.family()}"]
        return [self.range_line(f"compact {self.family()}")]

    def reopening(self):
        return [*self.rollbacks(), "open"]

    def rollbacks(self):
        """Builds of RocksDB with assertions end if prepared transactions are left at closing."""
        lines = [f"end {name} rollback" for name in self.open]
        self.open = {}
        return lines

    def new_family(self):
        name = f"family{self.next_family}"
        self.next_family += 1
        self.families.append(name)
        return [f"create {name}"]

    def step(self, steps):
        """Returns the lines of one random step. `steps`: how many there are, so that the rare ones happen a few times."""
        options = self.options
        if not self.is_pinned:
            if int(options.use("reopens", "0")) and self.once_in(steps // int(options.use("reopens")) + 2):
                return self.reopening()
            if len(self.families) < int(options.use("families", "1")) and self.once_in(4):
                return self.new_family()
            if options.uses("changes_families") and len(self.families) > 1 and self.once_in(steps // 3 + 3):
                return [f"drop {self.families.pop()}"] if not self.open else []
            if options.uses("ingestion") and self.once_in(steps // 4 + 4):
                return self.ingest()
        if self.engine.name == "rocksdb" and self.once_in(steps // 5 + 5):
            return self.times_low() + [f"flush {self.family()}"]
        if options.uses("compactions") and self.once_in(steps // 3 + 10):
            return self.compaction()
        if options.uses("unlogged") and self.once_in(10):
            return [self.choices.choice(["wal off", "wal on"])]
        if self.has_transactions and self.once_in(2):
            return self.transaction()
        if options.uses("single_deletes") and self.once_in(12):
            return self.single_delete(self.family())
        return self.batch() if self.once_in(6) else [self.write(self.family())]

    def times_low(self):
        """Timestamps that are not persisted are flushed only below this time."""
        if self.options.get("cf.persist_user_defined_timestamps") is None:
            return []
        self.time += 1
        return [f"ts_low {family} @{self.time}" for family in self.families]

    def script(self):
        """Returns the lines of a script that writes a database, which ends as if the process had been killed or not."""
        steps = int(self.options.use("steps"))
        pinned = self.choices.randrange(steps + 1) if self.options.uses("snapshots") else None
        lines = [*self.options.lines(), "open"]
        for i in range(steps):
            if i == pinned:
                lines.append("snapshot")
                self.is_pinned = True
            lines += self.step(steps)
        lines += ["checkpoint checkpoint"] if self.options.uses("checkpoint") else []
        return lines + (self.rollbacks() if self.options.use("end") == "close" else ["kill"])

    def endless(self):
        """Returns the lines of a script that writes until the process is killed. Prints "open" first.

        Its lines repeat, so it has no writes that happen once, and no timestamps.
        """
        options = self.options.values
        options.update({"use.families": "1", "use.changes_families": "no", "use.single_deletes": "no"})
        options.pop("cf.persist_user_defined_timestamps", None)
        self.has_transactions = False
        if self.has_times:
            options.pop("cf.comparator")
            self.has_times = False
        lines = [*self.options.lines(), "open", "say open", "loop"]
        for _ in range(400):
            lines += [*self.step(1000), "pair"]
        return lines


def reading(options, *dumps):
    """Returns the lines of a script that prints what the database contains."""
    return [*options.lines(), "open", *(dumps or (DUMP,))]
