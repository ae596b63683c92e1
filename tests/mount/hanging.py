#!/usr/bin/env python3
"""A test file that hangs in a state in which no signal reaches its process. watchdog_test.py runs it."""
import contextlib
import os
import subprocess
import threading

import mounting
import slow

READS = 80  # more than slowfs has threads


def read(file, position):
    with contextlib.suppress(OSError):
        os.pread(file, 1, position)


class Hanging(mounting.Case):
    def test_child_started_while_a_file_on_a_stopped_filesystem_is_open(self):
        (self.folder / "backing").mkdir()
        self.copy("riegeli/simple_zstd9.riegeli", "backing/slow.riegeli")
        held = slow.FileSystem(self)
        file = os.open(held / "slow.riegeli", os.O_RDONLY)
        (held.backing / "gate").write_text("0\n", encoding="utf-8")  # without the check of slow.py
        for position in range(READS):
            threading.Thread(target=read, args=(file, position), daemon=True).start()
        print("hanging", flush=True)
        subprocess.run(["true"], check=True)  # the child waits for the reply to FLUSH


if __name__ == "__main__":
    mounting.main()
