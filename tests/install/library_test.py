#!/usr/bin/env python3
"""The shared library as it is installed: its files, its interface, and programs that are built with it by CMake and pkg-config."""
import functools
import gzip
import http.server
import os
import re
import subprocess
import sysconfig
import tempfile
import threading
import unittest
from pathlib import Path

import support

LIBRARIES = f"lib/{sysconfig.get_config_var('MULTIARCH')}"
SHARED = f"{LIBRARIES}/librecordfs.so.0"
EXAMPLES = "share/doc/librecordfs-dev/examples"
SOURCES = ("database.cpp", "filter.cpp", "list_damage.c", "print_record.c", "sum_sizes.c")
FLAGS = "-O0 -Wall -Wextra -Werror"
FILES = {
    f"{LIBRARIES}/librecordfs-0/librecordfs-protobuf.so", f"{LIBRARIES}/librecordfs-0/recordfs-fetch", SHARED,
    f"{LIBRARIES}/librecordfs.so", f"{LIBRARIES}/pkgconfig/recordfs.pc", "include/recordfs.h", "include/recordfs.hpp",
    "share/man/man3/recordfs.3.gz", *(f"{EXAMPLES}/{name}" for name in ("CMakeLists.txt", *SOURCES)),
    *(f"{LIBRARIES}/cmake/recordfs/recordfsConfig{name}.cmake" for name in ("", "-relwithdebinfo", "Version"))}


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name) / "usr"
        for component in ("library", "development"):
            subprocess.run(["cmake", "--install", support.place.build, "--component", component, "--prefix", cls.root],
                           stdout=subprocess.DEVNULL, check=True)
        cls.programs = {"CMake": cls.root.parent / "cmake", "pkg-config": cls.root.parent / "pkg-config"}

    def run_example(self, name, *arguments, status=0, before=()):
        """Runs an example, as built in each way that works here. Returns its output and errors."""
        outputs = set()
        for folder in self.built():
            done = support.run(*before, folder / name, *arguments, env={**os.environ, "LD_LIBRARY_PATH": self.root / LIBRARIES})
            self.assertEqual(done.returncode, status, f"{folder / name}: {done.stdout}")
            outputs.add(re.sub(r"^(--|==)\d+.*\n", "", done.stdout, flags=re.MULTILINE))  # lines of valgrind
        self.assertEqual(len(outputs), 1)
        return outputs.pop()

    def built(self):
        """Builds the examples once. Returns their folders."""
        return [folder for folder in self.programs.values() if folder.is_dir()] or [self.build_with_cmake(),
                                                                                    self.build_with_pkg_config()]

    def build_with_cmake(self):
        folder = self.programs["CMake"]
        words = ["cmake", "-G", "Ninja", "-S", self.root / EXAMPLES, "-B", folder, f"-DCMAKE_PREFIX_PATH={self.root}", f"-DCMAKE_C_FLAGS={FLAGS}",
                 f"-DCMAKE_CXX_FLAGS={FLAGS}"]
        for step in (words, ["cmake", "--build", folder]):
            done = support.run(*step)
            self.assertEqual(done.returncode, 0, done.stdout)
        return folder

    def build_with_pkg_config(self):
        folder = self.programs["pkg-config"]
        folder.mkdir()
        found = support.run("pkg-config", "--cflags", "--libs", "recordfs",
                            env={**os.environ, "PKG_CONFIG_PATH": str(self.root / LIBRARIES / "pkgconfig")})
        self.assertEqual(found.returncode, 0, found.stdout)
        for source in SOURCES:
            compiler = ("cc", "-std=c11", "-pedantic") if source.endswith(".c") else ("c++", "-std=c++20")
            done = support.run(*compiler, *FLAGS.split(), "-o", folder / Path(source).stem, self.root / EXAMPLES / source,
                               *found.stdout.split())
            self.assertEqual(done.returncode, 0, done.stdout)
        return folder

    def test_expected_files_are_installed_and_no_others(self):
        found = {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}
        version = next(iter(found - FILES))
        self.assertRegex(version, rf"^{re.escape(SHARED)}\.\d+\.\d+$")
        self.assertEqual(found, FILES | {version})
        self.assertEqual(os.readlink(self.root / SHARED), Path(version).name)

    def test_header_and_library_and_page_have_the_same_functions(self):
        header = (self.root / "include/recordfs.h").read_text(encoding="utf-8")
        declared = set(re.findall(r"\b(recordfs_\w+)\(", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)))
        listed = support.run("nm", "--dynamic", "--defined-only", self.root / SHARED).stdout
        exported = set(re.findall(r" T (\S+)$", listed, re.MULTILINE))
        self.assertEqual(exported, {f"{name}@@RECORDFS_0.1" for name in declared})
        self.assertEqual(set(re.findall(r" ([A-SU-Z]) ", listed)), {"A"}, listed)  # the names of versions
        page = gzip.decompress((self.root / "share/man/man3/recordfs.3.gz").read_bytes()).decode("utf-8")
        described = "\n".join(re.findall(r"^\.It (.*)$", page, re.MULTILINE))
        self.assertEqual(set(re.findall(r"\brecordfs_\w+", described)), declared)

    @support.needs("abidiff")
    def test_interface_is_the_described_one(self):
        done = support.run(support.place.checkout / "scripts/abi")
        self.assertEqual(done.returncode, 0, f"{done.stdout}\nscripts/abi --update accepts additions")

    def test_examples_print_damage_and_continue_after_it(self):
        damaged = support.sample("tfrecord/damaged/length-flip.tfrecord")
        shown = self.run_example("list_damage", support.sample("tfrecord/examples.tfrecord"), damaged, status=1)
        self.assertIn("examples.tfrecord: tfrecord\n", shown)
        self.assertIn("length-flip.tfrecord: tfrecord\n  byte 23169 to 23206: damage: a length that does not match its checksum; "
                      "1 records lost\n", shown)
        self.assertIn("299 records, ", self.run_example("sum_sizes", damaged, status=1))
        self.assertIn("10 records, ", self.run_example("sum_sizes", support.sample("tfrecord/examples.tfrecord")))

    def test_examples_print_what_the_program_prints(self):
        file = support.sample("tfrecord/examples.tfrecord")
        program = support.place.build / "recordfs"
        self.assertEqual(self.run_example("print_record", file, "0", "json") + "\n",
                         support.run(program, "head", "--json", "-n", "1", file).stdout)
        messages, condition = support.sample("riegeli/metadata_full_transposed.riegeli"), "u64 > 7991895315470553"
        self.assertEqual(self.run_example("filter", messages, condition),
                         support.run(program, "cat", "--json", "--where", condition, messages).stdout)
        self.assertIn("no record has a field nothing", self.run_example("filter", messages, "nothing == 1", status=1))
        self.assertIn("3 records cannot be decoded", self.run_example("filter", file, "image/width == 640", status=1))
        database = support.sample("database/leveldb-levels")
        keys = [line.split()[0] for line in self.run_example("database", database).splitlines()]
        self.assertEqual(keys, support.run(program, "keys", database).stdout.split())
        self.assertEqual(self.run_example("database", database, keys[0]), support.run(program, "get", database, keys[0]).stdout)

    def test_messages_are_decoded_by_the_module_beside_the_library(self):
        file = support.sample("riegeli/metadata_full_transposed.riegeli")
        self.assertIn('"u64":', self.run_example("print_record", file, "0", "json"))

    def test_urls_are_read_by_the_program_beside_the_library(self):
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=support.sample("tfrecord"))
        handler.func.log_message = lambda *_: None
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/examples.tfrecord"
            shown = self.run_example("list_damage", url)
            server.shutdown()
        self.assertEqual(shown, f"{url}: tfrecord\n")

    @support.needs("valgrind")
    def test_examples_leak_nothing_and_read_no_foreign_memory(self):
        check = ("valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9")
        self.run_example("sum_sizes", support.sample("tfrecord/damaged/length-flip.tfrecord"), status=1, before=check)
        self.run_example("database", support.sample("database/leveldb-levels"), before=check)

    def test_programs_need_no_folder_of_the_build(self):
        dynamic = support.run("readelf", "--dynamic", self.root / SHARED).stdout
        self.assertIn("[librecordfs.so.0]", dynamic)
        self.assertNotIn("RUNPATH", dynamic)
        for name in ("libfuse", "libcurl", "libprotobuf", "libCLI"):
            self.assertNotIn(name, dynamic)
        for name in ("recordfsConfig.cmake", "recordfsConfig-relwithdebinfo.cmake"):
            text = (self.root / LIBRARIES / "cmake/recordfs" / name).read_text(encoding="utf-8")
            self.assertNotIn(str(support.place.build), text)


if __name__ == "__main__":
    support.main()
