#!/usr/bin/env python3
"""Hardening of the built binaries by compiler and linker."""
import json
import re
import subprocess
import unittest

import support

BUILT = ("recordfs", "recordfs-fetch", "librecordfs-protobuf.so", "librecordfs.so")


def read(name, *options):
    """Returns readelf's description of a built file."""
    done = subprocess.run(["readelf", "--wide", *options, support.place.build / name], stdout=subprocess.PIPE, text=True,
                          check=True)
    return done.stdout


class Hardening(unittest.TestCase):
    def test_code_is_position_independent(self):
        for name in BUILT:
            self.assertRegex(read(name, "--file-header"), r"Type: +DYN", name)
        self.assertRegex(read("recordfs", "--dynamic"), r"FLAGS_1\).*\bPIE\b")

    def test_relocations_are_read_only(self):
        for name in BUILT:
            self.assertIn("GNU_RELRO", read(name, "--program-headers"), name)
            self.assertRegex(read(name, "--dynamic"), r"\bBIND_NOW\b|\(FLAGS_1\).*\bNOW\b", name)

    def test_no_library_is_loaded_from_the_current_folder(self):
        """An empty entry of such a path means that folder."""
        python = sorted((support.place.build / "python/recordfs").glob("_recordfs*.so"))
        for name in (*BUILT, *python):
            self.assertNotRegex(read(name, "--dynamic"), r"\((?:RPATH|RUNPATH)\)", name)

    def test_no_segment_is_writable_and_executable(self):
        for name in BUILT:
            headers = read(name, "--program-headers")
            flags = re.findall(r"^ +(?:LOAD|GNU_STACK) .*? ((?:R| )(?:W| )(?:E| )) +0x[0-9a-f]+$", headers, re.MULTILINE)
            self.assertGreater(len(flags), 2, headers)
            self.assertEqual([each for each in flags if "W" in each and "E" in each], [], name)

    def test_stack_protector_and_fortified_functions_are_used(self):
        for name in BUILT:
            self.assertIn("__stack_chk_fail", read(name, "--dyn-syms"), name)
        # The module calls no function that could be fortified.
        self.assertTrue(re.findall(r"\b__(?:memcpy|v?s?n?printf|fprintf)_chk\b", read("recordfs", "--dyn-syms")))

    def test_nothing_names_the_folder_of_the_build(self):
        """Another folder makes the same bytes then."""
        for name in BUILT:
            paths = re.findall(rb"\0(/[^\0]*/(?:core|fusefs|build)(?:/[^\0]*)?)(?=\0)", (support.place.build / name).read_bytes())
            self.assertEqual(paths, [], name)

    def test_every_source_is_compiled_with_hardening_options(self):
        commands = json.loads((support.place.build / "compile_commands.json").read_text(encoding="utf-8"))
        checked = [each for each in commands if re.search(r"/(core|fusefs)/", each["file"])]
        parts = {re.search(r"CMakeFiles/([\w-]+)\.dir/", each["command"]).group(1) for each in checked}
        self.assertLessEqual({"recordfs", "recordfs-fetch", "recordfs_api", "recordfs_base", "recordfs_codec", "recordfs_format_riegeli", "recordfs_glue",
                              "recordfs_protobuf", "recordfs_store", "recordfs_tree"}, parts)
        for each in checked:
            for option in ("-D_FORTIFY_SOURCE=3", "-fstack-protector-strong", "-fstack-clash-protection"):
                self.assertIn(f" {option} ", each["command"], each["file"])


if __name__ == "__main__":
    support.main()
