#!/usr/bin/env python3
"""The installed package works without the build folder, and decodes messages."""
import os
import subprocess
import sys
import unittest

import cases
from cases import Case, place, sample


class Installed(Case):
    def test_package_is_complete(self):
        subprocess.run(["cmake", "--install", str(place.programs), "--component", "python", "--prefix", str(self.folder)],
                       check=True, stdout=subprocess.DEVNULL)
        code = ("import recordfs, sys; print(recordfs.__file__);"
                "print(recordfs.open(sys.argv[1]).decode(0)['u64'])")
        done = subprocess.run([sys.executable, "-B", "-c", code, sample("riegeli/metadata_full_transposed.riegeli")],
                              env={**os.environ, "PYTHONPATH": str(self.folder)}, cwd=self.folder, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.split(), [str(self.folder / "recordfs/__init__.py"), "7991895315470554"])
        self.assertTrue((self.folder / "recordfs/py.typed").exists())


if __name__ == "__main__":
    cases.main()
