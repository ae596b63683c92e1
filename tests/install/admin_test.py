#!/usr/bin/env python3
"""The examples for administrators: systemd accepts the units, and the options that they use exist."""
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import support

ADMIN = support.ENGINES.parent / "admin"
TEMPLATE = "recordfs@.service"


def text(name):
    return (ADMIN / name).read_text(encoding="utf-8")


class Units(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="recordfs-units-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def verify(self, name, unit):
        """Returns the complaints of systemd about a unit."""
        path = self.folder / name
        path.write_text(unit, encoding="utf-8")
        return support.run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path)

    @support.needs("systemd-analyze")
    def test_systemd_accepts_the_service(self):
        # systemd searches fixed folders for the program, where it is not installed yet.
        unit = text(TEMPLATE).replace("ExecStart=recordfs ", f"ExecStart={support.place.build}/recordfs ")
        done = self.verify("recordfs@srv-data-log.riegeli.service", unit)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    @support.needs("systemd-analyze")
    def test_systemd_accepts_the_mount(self):
        done = self.verify("mnt-log.mount", text("mnt-log.mount"))
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    @support.needs("systemd-analyze")
    def test_systemd_rejects_a_wrong_unit(self):
        self.assertNotEqual(self.verify("mnt-log.mount", text("mnt-log.mount").replace("/mnt/log", "/mnt/other")).stdout, "")


class Options(unittest.TestCase):
    def test_mount_options_of_the_examples_exist(self):
        known = support.mount_options(support.help_of()) | {"ro"}
        lists = re.findall(r" -o (\S+)", text(TEMPLATE)) + re.findall(r"(?m)^Options=(.*)$", text("mnt-log.mount"))
        lists += re.findall(r'-o, "([^"]+)"', text("compose.yaml"))
        self.assertEqual(len(lists), 4)
        used = {item.split("=")[0] for one in lists for item in one.split(",")}
        self.assertEqual(used - known, set())


if __name__ == "__main__":
    support.main()
