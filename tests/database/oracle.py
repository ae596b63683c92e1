"""What recordfs shows of random databases, compared with what their engine reads."""
import base64
import json
import os
import random
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple, Optional

import built
import engines

GOOD, DAMAGE, PARTLY_DONE = 0, 4, 5
# Files that no state depends on.
ASIDE = re.compile(r"LOCK|LOG(\.old.*)?|IDENTITY|OPTIONS-.*|.*\.dbtmp|snapshot")
MERGE = "needs the database's merge operator"
NO_ORDER = "a merge operand, without a known order of keys"
UNREAD = "a newer value may be in a part that recordfs cannot read"
TORN_END = re.compile(r"^.*, as after a crash, .*\n", re.MULTILINE)  # which is no damage
FOREIGN = re.compile("a transaction that is committed here are in another log|another log may commit them")
WITHOUT_MANIFEST = "without the MANIFEST, all tables and logs count"
NO_EFFECT = "of key ranges without effect"


class Row(NamedTuple):
    """A key as recordfs shows it."""

    value: Optional[bytes]
    error: str
    stale: bool
    operation: str
    file: str
    columns: Optional[dict] = None
    sequence: int = 0


class Shown(NamedTuple):
    """What recordfs shows of a database: {(family, key): Row} in its order, exit status, and messages."""

    rows: dict
    status: int
    err: str


def recordfs(*words):
    """Runs recordfs. Returns exit status, output and messages. Names the other directories of a database's tables."""
    words = [*words, *(word for path in words if isinstance(path, Path) for word in directories_beside(path))]
    ran = subprocess.run([built.program("recordfs"), *map(os.fsencode, words)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10 * built.PATIENCE, check=False)
    err = ran.stderr.decode(errors="backslashreplace")
    if ran.returncode < 0 or built.COMPLAINT.search(err):
        raise AssertionError(f"recordfs {words}: {ran.returncode} {err}")
    return ran.returncode, ran.stdout, TORN_END.sub("", err)


def directories_beside(database):
    """OPTIONS files do not name the directories of db_paths and cf_paths."""
    folders = sorted(database.parent.glob("*")) if database.name == "db" else []
    return [f"--db-path={folder}" for folder in folders if re.fullmatch(r"(path|family)\d", folder.name)]


def bytes_of(line, name):
    if name in line:
        return line[name].encode()
    return base64.b64decode(line[name + "_base64"]) if name + "_base64" in line else None


def parse(output):
    rows = {}
    for line in map(json.loads, output.splitlines()):
        at = line.get("column_family", "default"), bytes_of(line, "key")
        if at in rows:
            raise AssertionError(f"{at} is shown twice")
        rows[at] = Row(bytes_of(line, "value"), line.get("error", ""), line.get("stale", False), line["operation"],
                       line["file"], columns_of(line), line["sequence"])
    return rows


def columns_of(line):
    """Returns the columns of an entity as {name: value}, or None."""
    if "columns" not in line:
        return None
    return {bytes_of(column, "name"): bytes_of(column, "value") for column in line["columns"]}


def shown(directory):
    status, output, err = recordfs("cat", "--json", directory)
    return Shown(parse(output), status, err)


def families(rows):
    return {family for family, _ in rows}


def with_names(rows, names):
    """Without a MANIFEST, only tables name their families, and logs have numbers. `names`: {number: name}."""
    return {(names.get(family, family), key): row for (family, key), row in rows.items()}


def names_of_families(directory):
    info = json.loads(recordfs("info", "--json", directory)[1])
    return {str(family["number"]): family["name"] for family in info["column_families"]}


def keys_of(rows, family):
    return [key for name, key in rows if name == family]


# --- differences, as a list of lines


def compare_intact(truth, seen, options):
    """Compares an intact database with what its engine reads. Nothing may differ, and nothing may be reported.

    Four things may be: values that need an operator that is not known, the order of a comparator that is not known,
    marked keys that a deletion of a range may hide in that order, and transactions of which the files do not tell whether they
    were committed.
    """
    differences = compare_values(truth, seen)
    differences += [f"{at}: missing" for at in truth if at not in seen.rows]
    wrong = "wrong with status 0" if seen.status == GOOD else "wrong, and reported"
    if differences and seen.status != GOOD and may_be_unknown(options):
        return []
    differences = [f"{wrong}: {line}" for line in differences]
    if seen.status == PARTLY_DONE and NO_EFFECT in seen.err:
        return differences
    is_ordered = options.get("cf.comparator") != "by_length"
    for family in families(truth):
        if not differences and is_ordered and keys_of(truth, family) != keys_of(seen.rows, family):
            differences.append(f"{family}: other order")
    merges = any(MERGE in row.error or NO_ORDER in row.error for row in seen.rows.values())
    is_alarm = seen.status != (PARTLY_DONE if merges else GOOD) or (bool(seen.err) != merges and is_ordered)
    stale = [f"{at}: marked as stale" for at, row in seen.rows.items() if row.stale]
    if not may_be_unknown(options) and (is_alarm or stale):
        differences.append(f"false alarm: status {seen.status}: {seen.err[:300]} {stale[:2]}")
    return differences


def may_be_unknown(options):
    return options.get("transactions.write_policy") in ("1", "2")


def compare_values(truth, seen):
    """Returns what is wrong without a mark: other values, surplus keys, values that cannot be read."""
    differences = []
    for at, row in seen.rows.items():
        if row.stale or any(why in row.error for why in (MERGE, NO_ORDER, UNREAD)):
            continue
        if at not in truth:
            differences.append(f"{at}: surplus, {str(row)[:200]}")
        elif row.error:
            differences.append(f"{at}: {row.error}")
        elif row.value != truth[at].value:
            differences.append(f"{at}: {str(row)[:200]} instead of {truth[at].value[:80]!r} ({len(truth[at].value)} bytes)")
        elif row.columns is not None and row.columns != (truth[at].columns or {b"": truth[at].value}):
            differences.append(f"{at}: columns {str(row.columns)[:200]} instead of {str(truth[at].columns)[:200]}")
    return differences


def compare_damaged(truth, intact, seen, damaged, has_ingested):
    """Compares a database in which one file is damaged: what is wrong is marked, and only keys of that file are lost.

    `has_ingested`: it may have tables whose sequence number is in the MANIFEST alone, so that deletions may hide them.
    """
    differences = [line for line in compare_values(truth, seen) if seen.status == GOOD or "surplus" in line
                   or " instead of " in line]
    unnamed = {key for family, key in seen.rows if family.isdecimal()}  # of families that only the MANIFEST named
    for at in truth:
        if damaged.startswith("MANIFEST") and seen.status != GOOD and (has_ingested or at[1] in unnamed):
            continue
        # An obsolete log may delete a key whose write a compaction has numbered 0.
        if WITHOUT_MANIFEST in seen.err and intact.rows[at].sequence == 0 and seen.status != GOOD:
            continue
        if at not in seen.rows and (Path(intact.rows[at].file).name != damaged or seen.status == GOOD):
            differences.append(f"{at}: lost, and was in {intact.rows[at].file} (status {seen.status})")
    said = [line for line in seen.err.splitlines() if "unknown comparator" not in line]  # which is no damage
    if (seen.status == GOOD) != (not said):
        differences.append(f"status {seen.status}: {seen.err}")
    return differences


LOSES_THE_END = ("cut", "zeroed to the end")
CHANGES_BYTES = ("flipped", "zeroed", "zeroed to the end")


def compare_with_older(intact, seen, damaged):
    """Compares a database whose log lost its last writes without a trace: what is not in that log is unchanged, unless one
    of them was a deletion of a range that made it doubtful."""
    def is_same_or_marked(at, row):
        return at in seen.rows and (seen.rows[at].stale or seen.rows[at].value == row.value)

    return [f"{at}: changed, and was in {row.file}" for at, row in intact.rows.items()
            if Path(row.file).name != damaged and not is_same_or_marked(at, row) and UNREAD not in row.error]


# --- checks of one database


def check_commands(directory, truth, choices, is_ordered):
    """Compares `keys` and `get` with the truth, for some keys. Returns differences."""
    differences = []
    for family in sorted(families(truth) | {"default"}):
        words = ["--column-family", family, directory]
        status, output, err = recordfs("keys", "--null", *words)
        wanted = keys_of(truth, family)
        found = output.split(b"\0")[:-1]
        if not is_ordered:
            found, wanted, err = sorted(found), sorted(wanted), ""
        if (status, err, found) != (GOOD, "", wanted) and not any(b"\0" in key for key in wanted):
            differences.append(f"keys --null {family}: {status} {err}")
        lines = recordfs("keys", *words)[1].decode().split("\n")[:-1]
        if not is_ordered:
            continue
        if len(lines) != len(wanted):
            differences.append(f"keys {family}: {len(lines)} instead of {len(wanted)}")
            continue
        for index in choices.sample(range(len(wanted)), min(4, len(wanted))):
            differences += check_key(words, lines[index], truth[family, wanted[index]].value)
    if recordfs("get", directory, "no such key")[0] != 1:
        differences.append("get: finds a key that does not exist")
    return differences


def check_key(words, escaped, value):
    status, output, err = recordfs("get", "--encoded", *words, escaped)
    if MERGE in err:
        return []
    history = [json.loads(line) for line in recordfs("get", "--encoded", "--history", "--json", *words, escaped)[1].splitlines()]
    differences = []
    if (status, output, err) != (GOOD, value, ""):
        differences.append(f"get {escaped}: {status} {err} {len(output)} bytes instead of {len(value)}")
    newest = history[0] if history else {"operation": "none"}
    is_whole = newest["operation"] == "put"  # an entity has more than its default column, and an operand is a part
    if newest["operation"] not in ("put", "put_entity", "merge") or (is_whole and newest["size"] not in (len(value), None)):
        differences.append(f"get --history {escaped}: {history[:2]}")
    if [version["sequence"] for version in history] != sorted((version["sequence"] for version in history), reverse=True):
        differences.append(f"get --history {escaped}: not in order")
    return differences


def check_snapshot(folder, choices, is_ordered):
    """Compares `keys --at` and `get --at` with what a snapshot showed. Returns differences."""
    snapshot = engines.snapshot_of(folder)
    if snapshot is None:
        return []
    directory, (number, truth) = folder / "db", snapshot
    differences = []
    for family in sorted(families(truth)):
        words = ["--column-family", family, "--at", str(number), *directories_beside(directory)]
        status, output, err = recordfs("keys", "--json", *words, directory)
        found = {bytes_of(json.loads(line), "key") for line in output.splitlines()}
        wanted = set(keys_of(truth, family))
        if status != GOOD or (err and is_ordered) or found != wanted:
            differences.append(f"--at {number} {family}: {status} {err}, surplus {sorted(found - wanted)[:3]}, "
                               f"missing {sorted(wanted - found)[:3]}")
        for key in choices.sample(sorted(wanted), min(3, len(wanted))):
            if b"\0" in key:
                continue
            status, output, err = recordfs("get", *words, directory, "--", key)
            if output != truth[family, key].value and MERGE not in err:
                differences.append(f"get --at {number} {family} {key}: {status} {err}")
    return differences


def check_files(directory, seen):
    """Each key is also found in the log or table alone that has its newest version. Returns differences."""
    by_file = {}
    for (family, key), row in seen.rows.items():
        by_file.setdefault((row.file, family), set()).add(key)
    differences = []
    for (file, family), keys in by_file.items():
        if family != "default" or not (directory / file).exists():  # a log has only the numbers of the others
            continue
        status, output, err = recordfs("keys", "--json", directory / file)
        missing = keys - {bytes_of(json.loads(line), "key") for line in output.splitlines()}
        is_said = NO_EFFECT in err or FOREIGN.search(err)
        if (missing and not FOREIGN.search(err)) or status not in ((PARTLY_DONE,) if is_said else (GOOD, DAMAGE)):
            differences.append(f"keys {file}: {status} {err}, without {sorted(missing)[:3]}")
    return differences


def damages(folder, choices):
    """Yields (what, name of the damaged file) while a copy of the database, FOLDER.damaged, is in that state."""
    copy = Path(f"{folder}.damaged")
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    for name in files:
        if ASIDE.fullmatch(name.name) or name.parts[0] == "checkpoint":
            continue
        for what in ("removed", "cut", "flipped", "zeroed"):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy)
            if done := damage(copy / name, what, choices):
                yield done, name.name, copy
    shutil.rmtree(copy, ignore_errors=True)


def damage(path, what, choices):
    """Damages a file. Returns what was done; nothing if the file is unchanged."""
    content = bytearray(path.read_bytes())
    if what == "removed":
        path.unlink()
        return what
    if not content:
        return ""
    at = choices.randrange(len(content))
    if what == "cut":
        del content[at:]
    elif what == "flipped":
        content[at] ^= 1 << choices.randrange(8)
    else:
        if at + 512 >= len(content):
            what = "zeroed to the end"
        content[at:at + 512] = bytes(len(content[at:at + 512]))
    is_changed = bytes(content) != path.read_bytes()
    path.write_bytes(content)
    return what if is_changed else ""


class Check:
    """Checks of databases with one seed, in a folder. Each returns a list of differences."""

    def __init__(self, engine, folder, more=()):
        """`more`: functions as in surfaces.py, which intact() calls too."""
        self.engine, self.folder, self.more = engine, Path(folder), more

    def folder_of(self, seed):
        return self.folder / f"{self.engine.title().replace(' ', '-')}-{seed}"

    def intact(self, seed):
        folder, choices = self.folder_of(seed), random.Random(seed)
        options = self.engine.write(seed, folder)
        directory = folder / "db"
        truth, seen = self.engine.read(options, folder), shown(directory)
        differences = compare_intact(truth, seen, options)
        if seen.status == GOOD or MERGE in seen.err:
            is_ordered = options.get("cf.comparator") != "by_length"
            differences += check_commands(directory, truth, choices, is_ordered)
            if not may_be_unknown(options):
                differences += check_snapshot(folder, choices, is_ordered)
            if "u64ts" not in (options.get("cf.comparator") or ""):  # a log alone does not tell of timestamps
                # A table does not show which of its writes were never committed.
                differences += [] if may_be_unknown(options) else check_files(directory, seen)
            differences += self.check_verify(directory)
            for compare in self.more:
                differences += compare(directory, truth, bool(seen.err))
        if options.uses("checkpoint") and (folder / "checkpoint").exists():
            differences += [f"checkpoint: {line}" for line in
                            compare_intact(truth, shown(folder / "checkpoint"), options)]
        return differences

    @staticmethod
    def check_verify(directory):
        status, output, err = recordfs("verify", directory)
        is_unchecked = status == PARTLY_DONE and all(b": unchecked: " in line or b": surplus: " in line
                                                     for line in output.splitlines())
        return [] if status == GOOD or is_unchecked else [f"false alarm: verify: {status} {output} {err}"]

    def damaged(self, seed):
        """Damages each file in turn. Nothing is left at the paths that the options name, so that only copies are read."""
        folder, choices = self.folder_of(seed), random.Random(seed)
        options = self.engine.write(seed, folder)
        moved = folder.with_name(folder.name + ".moved")
        folder.rename(moved)
        truth, intact = self.engine.read(options, moved), shown(moved / "db")
        differences = [] if may_be_unknown(options) else compare_intact(truth, intact, options)
        if differences:
            return [f"before the damage: {line}" for line in differences]
        names = names_of_families(moved / "db")
        for what, name, copy in damages(moved, choices):
            if self.has_no_checksums(options, name) and what in CHANGES_BYTES:
                status, output, _ = recordfs("verify", copy / "db")
                is_surplus = f"{name}: surplus: ".encode() in output  # what is in no state may be anything
                differences += [] if status != GOOD or is_surplus else [f"{name} {what}: verified"]
                continue
            seen = shown(copy / "db")
            seen = seen._replace(rows=with_names(seen.rows, names))
            if not seen.rows and seen.status == 2:
                differences.append(f"{name} {what}: {seen.err}")
                continue
            if self.leaves_no_trace(what, name, copy):
                found = compare_with_older(intact, seen, name)
                # A merge may have operands in several logs, and only the log tells which writes of tables are committed.
                if found and self.reads_the_same(options, copy, seen):
                    found = []
            else:
                found = compare_damaged(truth, intact, seen, name, options.uses("ingestion"))
            differences += [f"{name} {what}: {line}" for line in found[:3]]
        return differences

    @staticmethod
    def has_no_checksums(options, name):
        return name.endswith(".sst") and options.get("table.checksum") == "kNoChecksum"

    def reads_the_same(self, options, folder, seen):
        try:
            truth = self.engine.read(options, folder)
        except engines.Refused:
            return False
        return {at: answer.value for at, answer in truth.items()} == {at: row.value for at, row in seen.rows.items()}

    def leaves_no_trace(self, what, name, copy):
        """Returns whether the logs look as if their last writes had never been made.

        LevelDB's writes have consecutive numbers, so only the last log can lose its end without a trace. RocksDB's may
        have gaps, and a copy of a RocksDB may have no log. A MANIFEST names only the first of several logs.
        """
        if not name.endswith(".log"):
            return False
        others = sorted(path.name for path in copy.rglob("*.log") if path.name != name)
        if self.engine.name != "rocksdb" and others and name < others[-1]:
            return False
        is_first = any((copy / "db").glob("MANIFEST-00000[0-2]"))  # which may name no log
        may_be_absent = self.engine.name == "rocksdb" or others or is_first
        return what in LOSES_THE_END or (what == "removed" and may_be_absent)

    def killed(self, seed):
        folder, choices = self.folder_of(seed), random.Random(seed)
        running, options = self.engine.start(seed, folder)
        time.sleep(choices.choice([0.02, 0.1, 0.5, 1.5]) * choices.random())
        engines.kill(running)
        seen = shown(folder / "db")
        return compare_intact(self.engine.read(options, folder), seen, options)

    def concurrent(self, seed, times):
        """Reads while the database is written and compacted. Two keys always have the same value."""
        folder = self.folder_of(seed)
        running, options = self.engine.start(seed, folder)
        differences = []
        try:
            for _ in range(times):
                differences += self.one_state(folder / "db")
                if running.poll() is not None:
                    raise AssertionError(f"the writer with seed {seed} ended with {running.poll()}")
        finally:
            engines.kill(running)
        return differences + compare_intact(self.engine.read(options, folder), shown(folder / "db"), options)

    @staticmethod
    def one_state(directory):
        seen = shown(directory)
        differences = []
        is_note = "unknown comparator" in seen.err
        if seen.status not in (GOOD, PARTLY_DONE) or (seen.status == GOOD and seen.err and not is_note):
            differences.append(f"status {seen.status}: {seen.err}")
        stale = [at for at, row in seen.rows.items() if row.stale or (row.error and MERGE not in row.error)]
        pair = [row.value for (_, key), row in seen.rows.items() if key in (b"pair/1", b"pair/2")]
        if stale or (pair and pair[0] != pair[1]):
            differences.append(f"not one state: {pair} {stale[:3]}")
        return differences
