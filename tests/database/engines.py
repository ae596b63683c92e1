"""Engines that write random databases and read them: programs that execute scripts (README.md)."""
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple, Optional

import built
import scripts


class Answer(NamedTuple):
    """The value of a key as the engine's iterator returns it, and the columns of an entity."""

    value: bytes
    columns: Optional[dict] = None


class Refused(Exception):
    """The engine does not open a database, or does not answer, or fails on its own."""


class Engine:
    """An engine, and the random databases that it writes: each in a folder, whose part db is the database."""

    def __init__(self, program):
        self.program = str(program)
        ran = subprocess.run([self.program, "--version"], stdout=subprocess.PIPE, check=True, timeout=built.PATIENCE)
        self.described = scripts.Engine.parse(ran.stdout.decode())
        self.name = self.described.name

    @staticmethod
    def is_built(program):
        return os.access(program, os.X_OK)

    def title(self):
        return f"{self.name} {'.'.join(map(str, self.described.version))}"

    def writer(self, seed):
        return scripts.Writer(self.described, seed)

    def write(self, seed, folder):
        """Writes a random database. A "moved" one has other paths than its files say. Returns its options."""
        writer = self.writer(seed)
        target = Path(f"{folder}.origin") if writer.options.uses("moved") else Path(folder)
        shutil.rmtree(folder, ignore_errors=True)
        make(target)
        self._run(target, writer.script())
        if target != Path(folder):
            target.rename(folder)
        return writer.options

    def start(self, seed, folder):
        """Starts a writer that writes until it is killed. Returns it and its options once the database is open."""
        make(folder)
        writer = self.writer(seed)
        running = subprocess.Popen([self.program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.stdin.write("\n".join(writer.endless()).encode())
        running.stdin.close()
        if running.stdout.readline() != b"open\n":
            raise AssertionError(f"the writer with seed {seed} ended with {running.wait()}")
        return running, writer.options

    def read(self, options, folder, dump=scripts.DUMP):
        """`options`: those that write() or start() returned. Returns {(family, key): Answer}, in the database's order, as the engine reads a recovered copy.

        Raises Refused if the engine does not open it.
        """
        copy = Path(f"{folder}.recovered")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        try:
            return rows_of(self._run(copy, scripts.reading(options, dump)).splitlines())
        finally:
            shutil.rmtree(copy)

    def _run(self, folder, lines):
        try:
            ran = subprocess.run([self.program, folder], input="\n".join(lines).encode(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, timeout=built.PATIENCE, check=False)
        except subprocess.TimeoutExpired as error:
            raise Refused("no answer") from error
        if ran.returncode != 0:
            raise Refused(f"{ran.returncode} {ran.stderr.decode(errors='replace')}")
        return ran.stdout


def make(folder):
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir(parents=True)


def kill(running):
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()


def rows_of(lines):
    rows = {}
    for line in lines:
        family, key, value, *columns = line.decode().split(":")
        columns = dict(map(bytes.fromhex, column.split("=")) for column in columns) if columns else None
        rows[bytes.fromhex(family).decode(), bytes.fromhex(key)] = Answer(bytes.fromhex(value), columns)
    return rows


def snapshot_of(folder):
    """Returns the sequence number of the snapshot and what it shows, or None if the writer took none."""
    path = Path(folder) / "snapshot"
    if not path.exists():
        return None
    number, *lines = path.read_bytes().splitlines()
    return int(number), rows_of(lines)
