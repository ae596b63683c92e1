#!/usr/bin/env python3
"""Privileges that a daemon has dropped once it serves its mount (-o sandbox)."""
import os
from pathlib import Path

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
READ_ANY_FOLDER = 1 << 2  # CAP_DAC_READ_SEARCH


class Confined(mounting.ConfinedCase):
    user = None

    def states(self, *words, source=mounting.sample(SAMPLE), container="."):
        """Returns {name: {values}} of /proc/PID/status over all threads of a new mount's daemon, after reading from it."""
        mounted = self.mount(source, user=self.user, options=words)
        top = mounted / container
        done = mounting.run("cat", top / "records/000000000", top / "index/summary.json", user=self.user)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        (daemon,) = mounting.daemons(mounted.point)
        found = {}
        for thread in Path(f"/proc/{daemon}/task").iterdir():
            for line in (thread / "status").read_text().splitlines():
                name, _, value = line.partition(":\t")
                found.setdefault(name, set()).add(value.strip())
        self.assertEqual(mounted.unmount(), 0)
        self.assertEqual((mounted.wait(), mounted.log()), (0, ""))
        return found

    def test_every_thread_of_the_daemon_is_confined(self):
        found = self.states("sandbox=yes")
        self.assertEqual(found["NoNewPrivs"], {"1"})
        self.assertEqual(found["Seccomp"], {"2"})
        for capabilities in ("CapEff", "CapPrm", "CapInh"):
            self.assertEqual({int(value, 16) for value in found[capabilities]}, {0}, capabilities)

    def test_root_keeps_the_capability_to_read_any_folder_over_a_directory(self):
        found = self.states("sandbox=yes", source=mounting.sample(SAMPLE).parent, container=Path(SAMPLE).name)
        kept = READ_ANY_FOLDER if os.geteuid() == 0 and self.user is None else 0
        for capabilities, expected in (("CapEff", kept), ("CapPrm", kept), ("CapInh", 0)):
            self.assertEqual({int(value, 16) for value in found[capabilities]}, {expected}, capabilities)

    def test_sandbox_no_installs_no_filter(self):
        self.assertEqual(self.states("sandbox=no")["Seccomp"], {"0"})

    def test_other_values_of_sandbox_are_refused(self):
        done = self.recordfs(mounting.sample(SAMPLE), self.new_point(), "-o", "sandbox=maybe")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sandbox=maybe", done.stderr)


@mounting.only_root
class ConfinedForOrdinaryUsers(Confined):
    user = mounting.NOBODY


if __name__ == "__main__":
    mounting.main()
