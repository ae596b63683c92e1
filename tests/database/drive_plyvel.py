#!/usr/bin/python3
"""Executes a script with plyvel (python3-plyvel): see script.h and README.md."""
import os
import sys

import plyvel

_NAMES = {"block_size": "block_size", "block_restart_interval": "block_restart_interval",
          "write_buffer_size": "write_buffer_size", "compression": "compression"}


def bytes_of(word):
    return bytes.fromhex(word[1:])


def add(batch, words):
    if words[0] == "put":
        batch.put(bytes_of(words[2]), bytes_of(words[3]))
    else:
        batch.delete(bytes_of(words[2]))


def lines_of(text):
    """Yields the lines of a script. Those after "loop" repeat indefinitely."""
    first, _, repeated = text.partition("\nloop\n")
    yield from first.splitlines()
    while repeated:
        yield from repeated.splitlines()


def dump(database):
    for key, value in database:
        print(f"{b'default'.hex()}:{key.hex()}:{value.hex()}")


def main():
    if sys.argv[1] == "--version":
        print("plyvel", plyvel.__version__)
        return
    settings, database, pair = {}, None, 0
    lines = lines_of(sys.stdin.read())
    for words in map(str.split, lines):
        if words[0] == "set":
            value = words[3] if words[2] == "compression" else int(words[3])
            settings[_NAMES[words[2]]] = None if value == "none" else value
        elif words[0] == "open":
            if database:
                database.close()
            database = plyvel.DB(os.path.join(sys.argv[1], "db"), create_if_missing=True, **settings)
        elif words[0] == "dump":
            dump(database)
        elif words[0] == "compact":
            bounds = list(map(bytes_of, words[2:4])) or [None, None]
            database.compact_range(start=bounds[0], stop=bounds[1])
        elif words[0] == "say":
            print(words[1], flush=True)
        elif words[0] == "kill":
            sys.stdout.flush()
            os._exit(0)
        else:
            with database.write_batch() as batch:
                if words[0] == "batch":
                    for _ in range(int(words[1])):
                        add(batch, next(lines).split())
                elif words[0] == "pair":
                    for key in (b"pair/1", b"pair/2"):
                        batch.put(key, b"%d" % pair)
                    pair += 1
                else:
                    add(batch, words)
    if database:
        database.close()


if __name__ == "__main__":
    main()
