"""The databases of the corpus, for tests of commands that read databases."""
import base64
import json
import shutil
from pathlib import Path

import commands

LEVELS = "database/leveldb-levels"  # tables of several levels, versions of keys, deletions, and a log
FAMILIES = "database/rocksdb7-families"
MERGES = "database/rocksdb7-merges"
CHECKSUMS = "database/rocksdb11-file-checksums"  # of whole files; its blocks have none
TIMED = "database/rocksdb7-timestamps"
ENTITIES = "database/rocksdb7-entities"
FOREIGN = "database/leveldb-idb-cmp1"  # a comparator that recordfs does not have
FOUND, NOT_FOUND, FAILED = range(3)  # exit statuses of get


def databases():
    """Returns the names of all databases in the corpus whose tables are in one directory."""
    names = sorted(f"database/{path.name}" for path in commands.sample("database").iterdir()
                   if path.is_dir() and Path(f"{path}{commands.EXPECTATION}").exists())
    return [name for name in names if "db_paths" not in commands.expectation(name)]


def families(name):
    """Returns {family: [(key, size, beginning of the value)]} as the library read them."""
    return {family["name"]: [(bytes.fromhex(key), size, bytes.fromhex(first)) for key, size, first in family["keys"]]
            for family in commands.expectation(name)["families"]}


def bytes_of(line, name):
    return line[name].encode() if name in line else base64.b64decode(line[name + "_base64"])


class Case(commands.Case):
    def copy_database(self, name):
        target = self.folder / "database"
        shutil.copytree(commands.sample(name), target)
        return target

    def json_lines(self, *words):
        return [json.loads(line) for line in self.recordfs(*words).out.splitlines()]
