#!/usr/bin/env python3
"""scripts/wheels gives no file a name that promises more than the file keeps. Wheels themselves are tested by wheel_roots.py."""
import importlib.machinery
import importlib.util
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support


def script():
    loader = importlib.machinery.SourceFileLoader("wheels", str(support.place.checkout / "scripts/wheels"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("wheels", loader))
    loader.exec_module(module)
    return module


@support.needs("readelf")
class Check(unittest.TestCase):
    def setUp(self):
        self.wheels = script()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.module = Path(folder.name) / "_module.so"

    def make(self, text, *options):
        subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", self.module, *options], input=text, text=True, check=True)

    def refuse(self, name):
        with self.assertRaisesRegex(SystemExit, f"_module.so cannot have the name manylinux_2_36_.*, since it needs {name}$"):
            self.wheels.check(self.module)

    def test_module_may_need_the_c_library_and_the_interpreter(self):
        self.make("void PyErr_Clear(void); int puts(const char*); void f(void) { PyErr_Clear(); puts(\"\"); }")
        self.wheels.check(self.module)

    def test_other_libraries_are_refused(self):
        self.make("int f;", "-Wl,--no-as-needed", "-lstdc++")
        self.refuse(r"libstdc\+\+\.so\.6")

    def test_paths_of_libraries_are_refused(self):
        self.make("int f;", "-Wl,-rpath,/opt")
        self.refuse("/opt")

    def test_symbols_of_a_newer_c_library_are_refused(self):
        self.make("unsigned arc4random(void); unsigned f(void) { return arc4random(); }")
        self.wheels.check(self.module)  # this function is as old as Debian 12
        with mock.patch.object(self.wheels, "C_LIBRARY", (2, 35)):
            self.refuse(r"GLIBC_2\.36")

    def test_missing_symbols_are_refused(self):
        self.make("void missing(void); void f(void) { missing(); }")
        self.refuse("missing")

    def test_tag_is_that_of_the_interpreter(self):
        self.assertEqual(self.wheels.tag_of(".cpython-39-x86_64-linux-gnu.so"), ("cp39", 9))
        self.assertEqual(self.wheels.tag_of(".cpython-313-aarch64-linux-gnu.so"), ("cp313", 13))
        for other in (".cpython-38-x86_64-linux-gnu.so", ".cpython-313t-x86_64-linux-gnu.so", ".pypy39-pp73-x86_64-linux-gnu.so"):
            with self.assertRaisesRegex(SystemExit, "no wheel can be built for modules that end with "):
                self.wheels.tag_of(other)


if __name__ == "__main__":
    support.main()
