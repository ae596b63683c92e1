#!/usr/bin/env python3
"""The installed package works without the build folder, and decodes messages. Its metadata is the same in each form."""
import importlib.metadata
import os
import subprocess
import sys
import unittest

import cases
from cases import Case, place, sample


try:
    import tomllib
except ImportError:
    tomllib = None

PACKAGES = "lib/python3/dist-packages"  # of Debian, below the prefix


class Installed(Case):
    def install(self, component):
        """Installs a component. Returns the folder of packages."""
        subprocess.run(["cmake", "--install", str(place.programs), "--component", component, "--prefix", str(self.folder)],
                       check=True, stdout=subprocess.DEVNULL)
        return self.folder / PACKAGES

    def test_package_is_complete(self):
        folder = self.install("python")
        code = ("import recordfs, sys; print(recordfs.__file__);"
                "print(recordfs.open(sys.argv[1]).decode(0)['u64'])")
        done = subprocess.run([sys.executable, "-B", "-c", code, sample("riegeli/metadata_full_transposed.riegeli")],
                              env={**os.environ, "PYTHONPATH": str(folder)}, cwd=self.folder, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.split(), [str(folder / "recordfs/__init__.py"), "7991895315470554"])
        self.assertTrue((folder / "recordfs/py.typed").exists())

    @unittest.skipIf(tomllib is None, "needs Python 3.11")
    def test_metadata_of_the_debian_package_is_that_of_the_project(self):
        project = tomllib.loads((place.checkout / "core/python/pyproject.toml").read_text())["project"]
        found = next(iter(importlib.metadata.distributions(path=[str(self.install("python_debian"))])))
        self.assertEqual({name: found.metadata[name] for name in ("Name", "Version", "Summary", "Requires-Python")},
                         {"Name": project["name"], "Version": project["version"], "Summary": project["description"],
                          "Requires-Python": project["requires-python"]})
        self.assertEqual({group: {entry.name: entry.value for entry in found.entry_points.select(group=group)}
                          for group in project["entry-points"]}, project["entry-points"])


if __name__ == "__main__":
    cases.main()
