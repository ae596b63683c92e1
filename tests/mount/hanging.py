#!/usr/bin/env python3
"""A test file that hangs, for watchdog_test.py: its process is in a state in which no signal reaches it."""
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
    def test_child_is_started_while_a_file_of_a_held_file_system_is_open(self):
        (self.folder / "backing").mkdir()
        self.copy("riegeli/simple_zstd9.riegeli", "backing/slow.riegeli")
        held = slow.FileSystem(self)
        file = os.open(held / "slow.riegeli", os.O_RDONLY)
        (held.backing / "gate").write_text("0\n", encoding="utf-8")  # without the check that slow.py makes
        for position in range(READS):
            threading.Thread(target=read, args=(file, position), daemon=True).start()
        print("hanging", flush=True)
        subprocess.run(["true"], check=True)  # the child waits for the answer to FLUSH


if __name__ == "__main__":
    mounting.main()
