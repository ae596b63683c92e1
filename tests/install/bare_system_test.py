#!/usr/bin/env python3
"""Package sources of a bare system of another release, and the message if none can be made."""
import contextlib
import importlib.machinery
import importlib.util
import io
import subprocess
import sys
import unittest
from unittest import mock

import support
import bare_system


def own_codename():
    done = subprocess.run(["sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


class Sources(unittest.TestCase):
    """apt of this system fetches its own release, and programs from other origins."""

    def setUp(self):
        self.own = own_codename()
        listed = [f"Packages Debian {self.own} http://a.test/debian {self.own} main",
                  f"Translations Debian {self.own} http://a.test/debian {self.own} main",
                  f"Packages Debian {self.own} http://a.test/debian {self.own} contrib",
                  f"Packages Debian {self.own}-security http://b.test/security {self.own}-security main",
                  f"Packages Somebody {self.own} http://c.test/programs {self.own} main"]
        patch = mock.patch.object(bare_system, "output", lambda *words: "\n".join(listed))
        patch.start()
        self.addCleanup(patch.stop)

    def test_own_release_comes_from_the_sources_of_apt(self):
        self.assertEqual(bare_system.sources_of(), ([f"http://a.test/debian {self.own} contrib main",
                                                     f"http://b.test/security {self.own}-security main"], self.own))

    def test_another_release_comes_from_the_same_places(self):
        self.assertEqual(bare_system.sources_of("other"), (["http://a.test/debian other contrib main",
                                                            "http://b.test/security other-security main"], "other"))
        self.assertEqual(bare_system.sources_of("sid"), (["http://a.test/debian sid contrib main"], "sid"))


class Impossible(unittest.TestCase):
    def test_system_without_debian_sources_is_reported(self):
        with mock.patch.object(bare_system, "output", lambda *words: ""):
            with self.assertRaisesRegex(bare_system.Impossible, "no source for the release 'other'"):
                bare_system.sources_of("other")

    def test_in_root_prints_the_reason_and_exits_with_77(self):
        path = str(support.place.checkout / "scripts/in_root")
        loader = importlib.machinery.SourceFileLoader("in_root", path)
        in_root = importlib.util.module_from_spec(importlib.util.spec_from_loader("in_root", loader))
        loader.exec_module(in_root)
        printed = io.StringIO()
        with mock.patch.object(bare_system, "why_not", lambda: "there is no network"), \
             mock.patch.object(sys, "argv", [path, "trixie", "true"]), contextlib.redirect_stdout(printed):
            self.assertEqual(in_root.main(), 77)
        self.assertEqual(printed.getvalue(), "SKIPPED: no root of trixie can be made: there is no network\n")


if __name__ == "__main__":
    support.main()
