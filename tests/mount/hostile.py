"""What the tests of hostile files share: a mirrored directory with a good file, and the bounds of memory."""
import os
import re
import sys
from pathlib import Path

import mounting

sys.path.append(str(Path(__file__).resolve().parent.parent / "writers" / "hostile"))
import files  # noqa: E402, F401  for those who import this

LARGEST_CHUNK = 32 << 20
CACHE = 16 << 20
OPTIONS = (f"max_chunk={LARGEST_CHUNK >> 20}M,cache_size={CACHE >> 20}M,threads=2,index=no",)
# What the daemon may take beside the limits that it was given: itself, with the tables of its catalogs.
ITSELF = 64 << 20
# A chunk as it is stored and as it is decoded, what a codec needs for it, and the cache.
MOST_MEMORY = 3 * LARGEST_CHUNK + CACHE + ITSELF
SANITIZER_FACTOR = 6  # shadow memory, and what was freed and is kept for a while

GOOD = "riegeli/multiblock_zstd.riegeli"


def is_sanitized():
    program = Path(mounting.program("recordfs")).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


class Beside(mounting.Case):
    """Hostile files in a mirrored directory, and a good one beside them."""

    def setUp(self):
        super().setUp()
        self.source = self.folder / "source"
        self.source.mkdir()
        self.copy(GOOD, self.source / "good.riegeli")
        reference = self.mount(mounting.sample(GOOD))
        self.good = [(name, (reference / "records" / name).read_bytes())
                     for name in sorted(os.listdir(reference / "records"))]
        self.assertEqual(reference.unmount(), 0)

    def mounted(self):
        return self.mount(self.source, options=OPTIONS)

    def most_memory(self, mounted):
        """The daemon's resident memory at its highest, in bytes."""
        status = Path(f"/proc/{mounted.daemon.pid}/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE).group(1))

    def assert_in_bounds(self, mounted, bound, what):
        most = self.most_memory(mounted)
        self.assertLess(most, bound * (SANITIZER_FACTOR if is_sanitized() else 1), what)
        return most

    def read_a_good_record(self, mounted, number):
        """One that was not read before, as long as there is one, by its name and its bytes."""
        number %= len(self.good)
        self.assertEqual((mounted / "good.riegeli" / "records" / self.good[number][0]).read_bytes(), self.good[number][1])
