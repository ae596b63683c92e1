#!/usr/bin/env python3
"""Each style check finds a violation planted in a small checkout, and finds nothing in a clean one."""
import tempfile
import unittest
from pathlib import Path

import format_names
import include_direction
import layout
import pages
import phrases
import type_names

CLEAN = {
    "CMakeLists.txt": "",
    "README.md": "",
    "LICENSE": "",
    ".clang-format": "",
    "scripts/test": "",
    "build/junk.txt": "",
    "core/base/README.md": "# base\n",
    "core/base/cursor.h": "#include <cstdint>\nflag.load();  // load the process handle\n",
    "core/hash/README.md": "# hash\n",
    "core/hash/crc.cc": '#include <isa-l.h>\n#include "core/base/cursor.h"\n',
    "core/codec/README.md": "# codec\n",
    "core/codec/zstd.cc": '#include <zstd.h>\n#include "core/hash/crc32c.h"\n',
    "core/formats/README.md": "# formats\n",
    "core/formats/registry.h": '#include "core/base/cursor.h"\n',
    "core/formats/formats.cc": '#include "core/formats/aaa/aaa.h"\n#include "core/formats/registry.h"\n',
    "core/formats/aaa/FORMAT.md": "# aaa\n",
    "core/formats/aaa/aaa.h": '#include "core/formats/registry.h"\n#include "core/codec/codec.h"\n',
    "core/store/README.md": "# store\n",
    "core/store/store.cc": '#include "core/formats/registry.h"\n// as in riegeli\n',
    "fusefs/README.md": "# fusefs\n",
    "fusefs/main.cc": '#include "fusefs/glue/session.h"\n',
    "fusefs/glue/README.md": "# glue\n",
    "fusefs/glue/session.h": '#include <fuse_lowlevel.h>\n#include "fusefs/tree/node.h"\n',
    "fusefs/tree/README.md": "# tree\n",
    "fusefs/tree/node.h": '#include "core/store/store.h"\n',
    "tests/unit/README.md": "# unit\n",
    "tests/unit/base/cursor_test.cc": "int handle;\n",
}


class Checkout(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, text in CLEAN.items():
            self.plant(path, text)

    def plant(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def assert_found(self, check, *prefixes):
        self.assertEqual([e[: len(b)] for e, b in zip(check.errors(self.root), prefixes)], list(prefixes))
        self.assertEqual(len(list(check.errors(self.root))), len(prefixes))


class CleanCheckout(Checkout):
    def test_nothing_is_found(self):
        for check in (format_names, include_direction, layout, phrases, type_names):
            self.assert_found(check)


class TypeNames(Checkout):
    def test_type_defined_twice_in_a_namespace_is_found(self):
        self.plant("fusefs/tree/state.h", "namespace recordfs {\nstruct State {\n};\nstruct Ahead;\n}\n")
        self.plant("fusefs/glue/other.h", "namespace recordfs::glue {\nstruct State {};\n}\n")
        self.assert_found(type_names)
        self.plant("fusefs/glue/state.h", "namespace recordfs {\nenum class State : int {\n};\n}\n")
        self.assert_found(type_names, "fusefs/tree/state.h:2: recordfs::State is also defined in fusefs/glue/state.h:2")


class Includes(Checkout):
    def includes(self, path, line):
        self.plant(path, f"#pragma once\n{line}\n")
        self.assert_found(include_direction, f"{path}:2: ")

    def test_base_that_includes_hash_is_found(self):
        self.includes("core/base/cursor.h", '#include "core/hash/crc32c.h"')

    def test_hash_that_includes_codec_is_found(self):
        self.includes("core/hash/highway.h", '#include "core/codec/codec.h"')

    def test_codec_that_includes_a_format_contract_is_found(self):
        self.includes("core/codec/codec.h", '#include "core/formats/registry.h"')

    def test_format_that_includes_another_format_is_found(self):
        self.includes("core/formats/bbb/bbb.h", '#include "core/formats/aaa/aaa.h"')

    def test_format_that_includes_store_is_found(self):
        self.includes("core/formats/aaa/aaa.h", '#include "core/store/store.h"')

    def test_contract_that_includes_a_format_is_found(self):
        self.includes("core/formats/registry.cc", '#include "core/formats/aaa/aaa.h"')

    def test_store_that_includes_a_format_is_found(self):
        self.includes("core/store/store.cc", '#include "core/formats/aaa/aaa.h"')

    def test_fusefs_that_includes_a_format_is_found(self):
        self.includes("fusefs/main.cc", '#include "core/formats/aaa/aaa.h"')

    def test_core_that_includes_fusefs_is_found(self):
        self.includes("core/store/store.cc", '#include "fusefs/tree/node.h"')

    def test_tree_that_includes_glue_is_found(self):
        self.includes("fusefs/tree/node.h", '#include "fusefs/glue/session.h"')

    def test_glue_that_includes_commands_is_found(self):
        self.includes("fusefs/glue/session.h", '  #  include "fusefs/commands/command.h"')

    def test_glue_that_includes_main_is_found(self):
        self.includes("fusefs/glue/session.h", '#include "fusefs/options.h"')

    def test_codec_library_in_a_format_is_found(self):
        self.includes("core/formats/aaa/aaa.h", "#include <zstd.h>")

    def test_codec_library_in_another_codec_is_found(self):
        self.includes("core/codec/snappy.cc", "#include <brotli/decode.h>")

    def test_codec_library_with_quotes_is_found(self):
        self.includes("core/formats/aaa/aaa.h", '#include "zstd.h"')

    def test_hash_library_in_the_store_is_found(self):
        self.includes("core/store/store.cc", "#include <highwayhash/highwayhash.h>")

    def test_libfuse_in_main_is_found(self):
        self.includes("fusefs/main.cc", "#include <fuse.h>")

    def test_libfuse_in_the_tree_is_found(self):
        self.includes("fusefs/tree/node.h", "#include <fuse3/fuse_lowlevel.h>")

    def test_json_library_in_the_store_is_found(self):
        self.includes("core/store/store.cc", "#include <nlohmann/json.hpp>")

    def test_printing_in_core_is_found(self):
        self.includes("core/base/cursor.h", "#include <iostream>")

    def test_relative_include_is_found(self):
        self.includes("core/base/cursor.h", '#include "bytes.h"')

    def test_folder_without_a_layer_is_found(self):
        self.plant("core/misc/thing.h", "")
        self.assert_found(include_direction, "core/misc/thing.h: ")

    def test_include_in_a_comment_is_ignored(self):
        self.plant("core/base/cursor.h", '/*\n#include "core/store/store.h"\n*/\n// #include <zstd.h>\n')
        self.assert_found(include_direction)


class Layout(Checkout):
    def test_unknown_folder_at_the_top_level_is_found(self):
        self.plant("docs/page.md", "")
        self.assert_found(layout, "docs: ")

    def test_folder_without_readme_is_found(self):
        (self.root / "core/base/README.md").unlink()
        self.assert_found(layout, "core/base: ")

    def test_kind_of_test_without_readme_is_found(self):
        (self.root / "tests/unit/README.md").unlink()
        self.assert_found(layout, "tests/unit: ")

    def test_readme_longer_than_60_lines_is_found(self):
        self.plant("core/base/README.md", "line\n" * 61)
        self.assert_found(layout, "core/base/README.md: ")

    def test_readme_for_users_may_have_150_lines(self):
        self.plant("core/python/set.h", "")
        self.plant("core/python/README.md", "line\n" * 150)
        self.assert_found(layout)
        self.plant("core/python/README.md", "line\n" * 151)
        self.assert_found(layout, "core/python/README.md: ")

    def test_format_without_description_is_found(self):
        (self.root / "core/formats/aaa/FORMAT.md").unlink()
        self.assert_found(layout, "core/formats/aaa: ")

    def test_source_of_600_lines_is_accepted(self):
        self.plant("core/base/cursor.h", "\n" * 600)
        self.assert_found(layout)

    def test_source_of_601_lines_is_found(self):
        self.plant("tests/unit/base/cursor_test.cc", "\n" * 601)
        self.assert_found(layout, "tests/unit/base/cursor_test.cc: ")


class Pages(Checkout):
    def test_readme_of_150_lines(self):
        self.plant("README.md", "line\n" * 150)
        self.assert_found(pages)

    def test_readme_of_151_lines(self):
        self.plant("README.md", "line\n" * 151)
        self.assert_found(pages, "README.md: 151 ")

    def test_links_that_lead_somewhere(self):
        self.plant("core/PAGE.md", "# What is `in` it?\n[a](base/README.md) [b](#what-is-in-it) [c](https://example.org)\n")
        self.plant("README.md", "[d](core/PAGE.md#what-is-in-it) `[e](nowhere)`\n```\n[f](nowhere)\n```\n")
        self.assert_found(pages)

    def test_link_to_no_file(self):
        self.plant("core/README.md", "[a](core/base/README.md)\n")
        self.assert_found(pages, "core/README.md: no such file: ")

    def test_link_to_no_heading(self):
        self.plant("README.md", "[a](core/base/README.md#design)\n")
        self.assert_found(pages, "README.md: no such heading: ")


    def test_format_that_a_list_lacks(self):
        self.plant("core/formats/aaa_log/format.h", "")
        self.plant("README.md", "[a](core/formats/aaa/FORMAT.md)\n")
        self.plant("tests/GUARANTEES.md", "Aaa\n")
        self.assert_found(pages, "README.md: does not have the format aaa_log ", "fusefs/install/types/magic: does not have ")


class FormatNames(Checkout):
    def test_format_name_in_the_store_is_found(self):
        self.plant("core/formats/riegeli/format.h", "")
        self.plant("core/store/store.cc", 'if (format == "riegeli") return;\n')
        self.assert_found(format_names, "core/store/store.cc:1: ")

    def test_format_name_in_a_comment_is_ignored(self):
        self.plant("core/formats/riegeli/format.h", "")
        self.plant("fusefs/main.cc", "/* as\n riegeli */ int n; // proio\n")
        self.assert_found(format_names)


class Phrases(Checkout):
    def found_in(self, path, text, *lines):
        self.plant(path, text)
        self.assert_found(phrases, *[f"{path}:{line}: " for line in lines])

    def test_phrase_in_a_comment_of_a_header_is_found(self):
        self.found_in("core/codec/codec.h", "int n;\n// Whoever asks is told.\n/* and\n mended */\n", 2, 2, 4)

    def test_phrase_in_a_docstring_or_comment_of_python_is_found(self):
        self.found_in("tests/fuzz/run.py", '"""What stands behind\nit."""\nx = "nobody"  # got in\n', 1, 1, 3)

    def test_phrase_in_the_name_of_a_python_test_is_found(self):
        self.found_in("tests/mount/x_test.py", "def test_who_stands_there(self):\n    behind = 1\n", 1, 1)

    def test_phrase_in_a_comment_of_a_shell_script_is_found(self):
        self.found_in("scripts/test", "#!/bin/sh\necho behind ${#x} '# behind'  # got in\n# got in\n", 2, 3)

    def test_phrase_in_a_comment_of_a_python_script_without_suffix_is_found(self):
        self.found_in("scripts/run", "#!/usr/bin/env python3\n# got in\n", 2)

    def test_phrase_in_a_comment_of_cmake_is_found(self):
        self.plant("core/codec/CMakeLists.txt", "set(behind x)\n# got in\n")
        self.plant("scripts/cmake/a.cmake", 'set(x "# behind")  # got in\n')
        self.assert_found(phrases, "core/codec/CMakeLists.txt:2: ", "scripts/cmake/a.cmake:1: ")

    def test_phrase_in_a_readme_is_found(self):
        self.found_in("core/hash/README.md", "# hash\n\nIt knows no file.\n", 3)

    def test_code_and_names_are_ignored(self):
        self.plant("core/codec/codec.h", 'int behind = mend("is told");  // `behind`, mend() and "is told"\n')
        self.plant("core/hash/README.md", "```\nwhoever\n```\n\n    nobody\n")
        self.assert_found(phrases)

    def test_other_folders_are_ignored(self):
        self.found_in("build/main.cc", "// Whoever asks is told.\n")

    def test_page_of_the_project(self):
        self.found_in("README.md", "It knows no file.\n", 1)


if __name__ == "__main__":
    unittest.main()
