"""Builds the package with CMake, which needs the packages of `scripts/packages build python`."""
import os
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "wheel"  # this folder has sources only


class BuildWithCMake(build_ext):
    """Builds the extension module, and the module of libprotobuf that it loads."""

    def build_extension(self, ext):
        folder = Path(self.build_temp).resolve()
        target = Path(self.get_ext_fullpath(ext.name)).resolve().parents[1]
        folder.mkdir(parents=True, exist_ok=True)
        options = ["-D", "CMAKE_BUILD_TYPE=RelWithDebInfo", "-D", "RECORDFS_FUSE=OFF", "-D", "CMAKE_UNITY_BUILD=ON", "-D", "RECORDFS_TESTS=OFF",
                   "-D", f"RECORDFS_PYTHON_INTERPRETER={sys.executable}", "-D", "RECORDFS_PYTHON_FOLDER=."]
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, *options], check=True)
        subprocess.run(["cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1), "--target", "recordfs_python"], check=True)
        subprocess.run(["cmake", "--install", folder, "--component", "python", "--strip", "--prefix", target], check=True)


BUILD.mkdir(parents=True, exist_ok=True)
setup(ext_modules=[Extension("recordfs._recordfs", [])], cmdclass={"build_ext": BuildWithCMake},
      options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}})
