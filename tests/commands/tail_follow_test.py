#!/usr/bin/env python3
"""recordfs tail -f: the last records, followed by those that are appended."""
import contextlib
import json
import os
import signal
import subprocess
import time

import commands

SAMPLE = "riegeli/simple_flush_every7.riegeli"


def is_watching(pid):
    """Returns whether the process watches a file. With -f it has opened the file by then, with -F maybe not."""
    with contextlib.suppress(FileNotFoundError):
        with os.scandir(f"/proc/{pid}/fd") as entries:
            return any("inotify" in os.readlink(entry.path) for entry in entries)
    return False


class TailFollow(commands.Case):
    def setUp(self):
        super().setUp()
        self.whole = commands.sample(SAMPLE).read_bytes()
        self.lines = self.good("cat", "--lines", commands.sample(SAMPLE)).splitlines(keepends=True)
        self.source = self.folder / "growing.riegeli"
        self.written = 0
        self.append(len(self.whole) // 3)

    def append(self, size):
        with self.source.open("ab", buffering=0) as file:
            file.write(self.whole[self.written:self.written + size])
        self.written += size

    @contextlib.contextmanager
    def following(self, *words, option="-f"):
        """Runs tail -f, or with another option, with its output in the file self.shown."""
        self.shown = self.folder / "shown"
        with self.shown.open("wb") as out, \
             subprocess.Popen([commands.program("recordfs"), "tail", option, *words, str(commands.stored(self.source))], stdout=out,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.environment()) as running:
            try:
                yield running
            finally:
                running.kill()

    def wait_for(self, condition):
        end = time.monotonic() + commands.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, "timeout")
            time.sleep(0.01)

    def whole_lines(self):
        """Returns the lines so far, without one whose end is not written yet."""
        return [line for line in self.shown.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]

    def ordinals(self):
        return [json.loads(line)["ordinal"] for line in self.whole_lines()]

    def test_last_records_are_followed_by_appended_ones(self):
        with self.following("-n", "3", "--lines"):
            self.wait_for(lambda: len(self.whole_lines()) == 3)
            first = self.lines.index(self.whole_lines()[0])
            for _ in range(3):
                before = len(self.whole_lines())
                self.append(len(self.whole) // 4)
                self.wait_for(lambda than=before: len(self.whole_lines()) > than)
            self.assertEqual(self.whole_lines(), self.lines[first:first + len(self.whole_lines())])
            self.append(len(self.whole))
            self.wait_for(lambda: self.whole_lines() == self.lines[first:])

    def test_zero_prints_only_appended_records(self):
        with self.following("-n", "0", "--json") as running:
            self.wait_for(lambda: is_watching(running.pid))
            self.append(len(self.whole))
            self.wait_for(lambda: self.whole_lines() and self.ordinals()[-1] == len(self.lines) - 1)
            self.assertGreater(self.ordinals()[0], 0)
            self.assertEqual(self.ordinals(), list(range(self.ordinals()[0], len(self.lines))))

    def test_sigint_ends_it(self):
        with self.following("-n", "1", "--lines") as running:
            self.wait_for(lambda: len(self.whole_lines()) == 1)
            running.send_signal(signal.SIGINT)
            self.assertEqual(running.wait(commands.PATIENCE), -signal.SIGINT)
            self.assertEqual(running.stderr.read(), b"")

    def test_closed_pipe_ends_it_without_new_records(self):
        with subprocess.Popen([commands.program("recordfs"), "tail", "-f", "-n", "1", "--lines", str(self.source)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment()) as running:
            self.assertIn(running.stdout.readline(), self.lines)
            running.stdout.close()
            running.wait(commands.PATIENCE)
            self.assertEqual(running.stderr.read(), b"")

    def test_truncated_file_ends_it_with_a_message(self):
        with self.following("-n", "1", "--lines") as running:
            self.wait_for(lambda: len(self.whole_lines()) == 1)
            os.truncate(self.source, 100)
            self.assertEqual(running.wait(commands.PATIENCE), commands.PARTLY_DONE)
            self.assertRegex(running.stderr.read().decode(), r"\Arecordfs: .*shorter")

    def test_moved_file_is_still_followed(self):
        with self.following("-n", "1", "--lines") as running:
            self.wait_for(lambda: len(self.whole_lines()) == 1)
            moved = self.folder / "moved"
            self.source.rename(moved)
            self.source = moved
            self.append(len(self.whole))
            self.wait_for(lambda: self.whole_lines()[-1] == self.lines[-1])
            running.send_signal(signal.SIGTERM)
            running.wait(commands.PATIENCE)
            self.assertIn("moved, removed or replaced", running.stderr.read().decode())

    def test_records_from_a_number_on_are_followed_by_appended_ones(self):
        with self.following("-n", "+3", "--json"):
            self.wait_for(lambda: self.whole_lines())
            self.append(len(self.whole))
            self.wait_for(lambda: self.ordinals()[-1] == len(self.lines) - 1)
            self.assertEqual(self.ordinals(), list(range(2, len(self.lines))))

    def rotated(self):
        """Gives the name of the source to a new file, after the rest of the old one was written."""
        self.append(len(self.whole))
        self.source.rename(self.folder / "old")
        self.source.touch()
        self.written = 0

    def test_file_that_replaces_a_followed_name_is_read_from_its_start(self):
        with self.following("-n", "1", "--json", option="-F") as running:
            self.wait_for(lambda: len(self.whole_lines()) == 1)
            self.rotated()
            self.wait_for(lambda: self.whole_lines() and self.ordinals()[-1] == len(self.lines) - 1)
            before = len(self.whole_lines())
            self.append(len(self.whole) // 2)
            self.wait_for(lambda: len(self.whole_lines()) > before)
            self.append(len(self.whole))
            self.wait_for(lambda: len(self.whole_lines()) == before + len(self.lines))
            self.assertEqual(self.ordinals()[before:], list(range(len(self.lines))))
            running.send_signal(signal.SIGTERM)
            running.wait(commands.PATIENCE)
            self.assertIn("following the new file", running.stderr.read().decode())

    def test_truncated_file_of_a_followed_name_is_read_again(self):
        with self.following("-n", "1", "--json", option="-F") as running:
            self.wait_for(lambda: len(self.whole_lines()) == 1)
            self.source.write_bytes(b"")
            self.assertIn(b"shorter", running.stderr.readline())
            self.written = 0
            self.append(len(self.whole))
            self.wait_for(lambda: self.ordinals()[-1] == len(self.lines) - 1)
            self.assertEqual(self.ordinals()[1:], list(range(len(self.lines))))

    def test_file_of_a_followed_name_may_appear_later(self):
        self.source.unlink()
        self.written = 0
        with self.following("--json", option="-F") as running:
            self.assertRegex(running.stderr.readline().decode(), r"\Arecordfs: .*No such file")
            self.append(len(self.whole))
            self.wait_for(lambda: self.whole_lines() and self.ordinals()[-1] == len(self.lines) - 1)
            self.assertEqual(self.ordinals(), list(range(len(self.lines))))
            running.send_signal(signal.SIGTERM)
            running.wait(commands.PATIENCE)
            self.assertRegex(running.stderr.read().decode(), r"\A[^\n]*following the new file\n\Z")

    def test_followed_name_that_is_no_container_is_reported(self):
        self.source.write_text("words\n", encoding="utf-8")
        self.assert_ends(commands.CANNOT_OPEN, "not a record container", "tail", "-F", self.source)

    def test_missing_file_is_reported(self):
        self.assert_ends(commands.CANNOT_OPEN, "No such file", "tail", "-f", self.folder / "nothing")


if __name__ == "__main__":
    commands.main()
