"""Random databases, what their own library reads from them, and what recordfs shows of them."""
import base64
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple, Optional

import built

GOOD, DAMAGE, PARTLY_DONE = 0, 4, 5
# Files that no state depends on.
ASIDE = re.compile(r"LOCK|LOG(\.old.*)?|IDENTITY|OPTIONS-.*|.*\.dbtmp")
MERGE = "needs the database's merge operator"


class Row(NamedTuple):
    """A key as recordfs shows it."""

    value: Optional[bytes]
    error: str
    stale: bool
    operation: str
    file: str


class Shown(NamedTuple):
    """What recordfs shows of a database: {(family, key): Row} in its order, exit status, and messages."""

    rows: dict
    status: int
    err: str


class Oracle:
    """The library of an engine, which writes random databases and reads them."""

    def __init__(self, engine):
        self.engine = engine
        self.program = built.program(f"random_{engine}")

    def is_built(self):
        return os.access(self.program, os.X_OK)

    def write(self, seed, directory):
        self._run("write", seed, directory)

    def start(self, seed, directory):
        """Starts a writer that writes until it is killed. Returns once the database is open."""
        running = subprocess.Popen([self.program, "endless", str(seed), str(directory)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        if running.stdout.readline() != b"open\n":
            raise AssertionError(f"the writer with seed {seed} ended with {running.wait()}")
        return running

    def read(self, seed, directory):
        """Returns {(family, key): value}, in the database's order, as the library reads it from a recovered copy."""
        copy = Path(f"{directory}.recovered")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(directory, copy)
        try:
            return rows_of(self._run("dump", seed, copy).splitlines())
        finally:
            shutil.rmtree(copy)

    def _run(self, what, seed, directory):
        ran = subprocess.run([self.program, what, str(seed), str(directory)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10 * built.PATIENCE, check=False)
        if ran.returncode != 0:
            raise AssertionError(f"{self.program} {what} {seed} {directory}: {ran.returncode} {ran.stderr!r}")
        return ran.stdout


def kill(running):
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()


def rows_of(lines):
    rows = {}
    for line in lines:
        family, key, value = line.split(b":")
        rows[bytes.fromhex(family.decode()).decode(), bytes.fromhex(key.decode())] = bytes.fromhex(value.decode())
    return rows


def snapshot_of(directory):
    """Returns the sequence number of the snapshot and what it shows, or None if the writer took none."""
    path = Path(f"{directory}.snapshot")
    if not path.exists():
        return None
    number, *lines = path.read_bytes().splitlines()
    return int(number), rows_of(lines)


def recordfs(*words):
    """Runs recordfs. Returns exit status, output and messages."""
    ran = subprocess.run([built.program("recordfs"), *map(os.fsencode, words)], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10 * built.PATIENCE, check=False)
    err = ran.stderr.decode(errors="backslashreplace")
    if ran.returncode < 0 or built.COMPLAINT.search(err):
        raise AssertionError(f"recordfs {words}: {ran.returncode} {err}")
    return ran.returncode, ran.stdout, err


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
                       line["file"])
    return rows


def shown(directory):
    status, output, err = recordfs("cat", "--json", directory)
    return Shown(parse(output), status, err)


def families(rows):
    return {family for family, _ in rows}


def keys_of(rows, family):
    return [key for name, key in rows if name == family]


# --- differences, as a list of lines


def compare_intact(truth, seen):
    """Compares an intact database with what its library reads: nothing may differ, and nothing may be marked."""
    differences = compare_values(truth, seen)
    differences += [f"{at}: missing" for at in truth if at not in seen.rows]
    differences += [f"{at}: marked as stale" for at, row in seen.rows.items() if row.stale]
    for family in families(truth):
        if not differences and keys_of(truth, family) != keys_of(seen.rows, family):
            differences.append(f"{family}: other order")
    merges = any(row.operation == "merge" for row in seen.rows.values())
    if seen.status != (PARTLY_DONE if merges else GOOD) or bool(seen.err) != merges:
        differences.append(f"status {seen.status}: {seen.err}")
    return differences


def compare_values(truth, seen):
    """Returns what is wrong without a mark: other values, surplus keys, values that cannot be read."""
    differences = []
    for at, row in seen.rows.items():
        is_merge = row.operation == "merge" and MERGE in row.error
        if row.stale or is_merge:
            continue
        if at not in truth:
            differences.append(f"{at}: surplus, {row}")
        elif row.error:
            differences.append(f"{at}: {row.error}")
        elif row.value != truth[at]:
            differences.append(f"{at}: {row} instead of {truth[at][:80]!r} ({len(truth[at])} bytes)")
    return differences


def compare_damaged(truth, intact, seen, damaged):
    """Compares a database in which one file is damaged: what is wrong is marked, and only keys of that file are lost."""
    differences = [line for line in compare_values(truth, seen) if seen.status == GOOD or "surplus" in line
                   or " instead of " in line]
    for at in truth:
        if at not in seen.rows and (intact.rows[at].file != damaged or seen.status == GOOD):
            differences.append(f"{at}: lost, and was in {intact.rows[at].file} (status {seen.status})")
    if (seen.status == GOOD) != (not seen.err):
        differences.append(f"status {seen.status}: {seen.err}")
    return differences


LOSES_THE_END = ("cut", "zeroed to the end")


def compare_with_older(intact, seen, damaged):
    """Compares a database whose log lost its last writes without a trace: what is not in that log is unchanged."""
    return [f"{at}: changed, and was in {row.file}" for at, row in intact.rows.items()
            if row.file != damaged and (at not in seen.rows or seen.rows[at].value != row.value)]


# --- checks of one database


def check_commands(directory, truth, choices):
    """Compares `keys` and `get` with the truth, for some keys. Returns differences."""
    differences = []
    for family in sorted(families(truth) | {"default"}):
        words = ["--column-family", family, directory]
        status, output, err = recordfs("keys", "--null", *words)
        wanted = keys_of(truth, family)
        if (status, err, output.split(b"\0")[:-1]) != (GOOD, "", wanted) and not any(b"\0" in key for key in wanted):
            differences.append(f"keys --null {family}: {status} {err}")
        lines = recordfs("keys", *words)[1].decode().split("\n")[:-1]
        if len(lines) != len(wanted):
            differences.append(f"keys {family}: {len(lines)} instead of {len(wanted)}")
            continue
        for index in choices.sample(range(len(wanted)), min(4, len(wanted))):
            differences += check_key(words, lines[index], truth[family, wanted[index]])
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
    if not history or history[0]["operation"] not in ("put", "put_entity") or history[0]["size"] not in (len(value), None):
        differences.append(f"get --history {escaped}: {history[:2]}")
    if [version["sequence"] for version in history] != sorted((version["sequence"] for version in history), reverse=True):
        differences.append(f"get --history {escaped}: not in order")
    return differences


def check_snapshot(directory, choices):
    """Compares `keys --at` and `get --at` with what a snapshot showed. Returns differences."""
    snapshot = snapshot_of(directory)
    if snapshot is None:
        return []
    number, truth = snapshot
    differences = []
    for family in sorted(families(truth)):
        words = ["--column-family", family, "--at", number]
        words = [str(word) for word in words]
        status, output, err = recordfs("keys", "--json", *words, directory)
        found = {bytes_of(json.loads(line), "key") for line in output.splitlines()}
        wanted = set(keys_of(truth, family))
        if (status, err) != (GOOD, "") or found != wanted:
            differences.append(f"--at {number} {family}: {status} {err}, surplus {sorted(found - wanted)[:3]}, "
                               f"missing {sorted(wanted - found)[:3]}")
        for key in choices.sample(sorted(wanted), min(3, len(wanted))):
            if b"\0" in key:
                continue
            status, output, err = recordfs("get", *words, directory, "--", key)
            if output != truth[family, key] and MERGE not in err:
                differences.append(f"get --at {number} {family} {key}: {status} {err}")
    return differences


def check_files(directory, seen):
    """Each key is also found in the log or table alone that has its newest version. Returns differences."""
    by_file = {}
    for (family, key), row in seen.rows.items():
        by_file.setdefault((row.file, family), set()).add(key)
    differences = []
    for (file, family), keys in by_file.items():
        if family != "default":  # a log has only the numbers of the others
            continue
        status, output, err = recordfs("keys", "--json", Path(directory) / file)
        missing = keys - {bytes_of(json.loads(line), "key") for line in output.splitlines()}
        if missing or status not in (GOOD, DAMAGE):
            differences.append(f"keys {file}: {status} {err}, without {sorted(missing)[:3]}")
    return differences


def damages(directory, choices):
    """Yields (what, name of the damaged file) while a copy of the database, DIRECTORY.damaged, is in that state."""
    copy = Path(f"{directory}.damaged")
    for name in sorted(os.listdir(directory)):
        if ASIDE.fullmatch(name):
            continue
        for what in ("removed", "cut", "flipped", "zeroed"):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(directory, copy)
            if done := damage(copy / name, what, choices):
                yield done, name, copy
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

    def __init__(self, oracle, folder):
        self.oracle, self.folder = oracle, Path(folder)

    def directory(self, seed):
        return self.folder / f"{self.oracle.engine}-{seed}"

    def intact(self, seed):
        directory, choices = self.directory(seed), random.Random(seed)
        self.oracle.write(seed, directory)
        truth, seen = self.oracle.read(seed, directory), shown(directory)
        differences = compare_intact(truth, seen)
        differences += check_commands(directory, truth, choices)
        differences += check_snapshot(directory, choices)
        differences += check_files(directory, seen)
        status, output, err = recordfs("verify", directory)
        if status != GOOD:
            differences.append(f"verify: {status} {output} {err}")
        return differences

    def damaged(self, seed):
        """Damages each file in turn. REQUIRES: the database was written."""
        directory, choices = self.directory(seed), random.Random(seed)
        truth, intact = self.oracle.read(seed, directory), shown(directory)
        differences = []
        for what, name, copy in damages(directory, choices):
            seen = shown(copy)
            if not seen.rows and seen.status == 2:
                differences.append(f"{name} {what}: {seen.err}")
                continue
            if self.leaves_no_trace(what, name, copy):
                found = compare_with_older(intact, seen, name)
            else:
                found = compare_damaged(truth, intact, seen, name)
            differences += [f"{name} {what}: {line}" for line in found[:3]]
        return differences

    def leaves_no_trace(self, what, name, copy):
        """Returns whether the logs look as if their last writes had never been made.

        LevelDB's writes have consecutive numbers, so only the last log can lose its end without a trace. RocksDB's may
        have gaps, and a copy of a RocksDB may have no log. A MANIFEST names only the first of several logs.
        """
        if not name.endswith(".log"):
            return False
        others = sorted(path.name for path in copy.glob("*.log") if path.name != name)
        if self.oracle.engine == "leveldb" and others and name < others[-1]:
            return False
        may_be_absent = self.oracle.engine == "rocksdb" or others
        return what in LOSES_THE_END or (what == "removed" and may_be_absent)

    def killed(self, seed):
        directory, choices = self.directory(seed), random.Random(seed)
        running = self.oracle.start(seed, directory)
        time.sleep(choices.choice([0.02, 0.1, 0.5, 1.5]) * choices.random())
        kill(running)
        seen = shown(directory)
        return compare_intact(self.oracle.read(seed, directory), seen)

    def concurrent(self, seed, times):
        """Reads while the database is written and compacted. Two keys always have the same value."""
        directory = self.directory(seed)
        running = self.oracle.start(seed, directory)
        differences = []
        try:
            for _ in range(times):
                seen = shown(directory)
                if seen.status not in (GOOD, PARTLY_DONE) or (seen.status == GOOD and seen.err):
                    differences.append(f"status {seen.status}: {seen.err}")
                stale = [at for at, row in seen.rows.items() if row.stale or (row.error and MERGE not in row.error)]
                pair = [row.value for (_, key), row in seen.rows.items() if key in (b"pair/1", b"pair/2")]
                if stale or (pair and pair[0] != pair[1]):
                    differences.append(f"not one state: {pair} {stale[:3]}")
                if running.poll() is not None:
                    raise AssertionError(f"the writer with seed {seed} ended with {running.poll()}")
        finally:
            kill(running)
        return differences + compare_intact(self.oracle.read(seed, directory), shown(directory))
