"""Shared by the tests of hostile files: a mirrored directory with a good file, and bounds of memory."""
import functools
import os
import re
import sys
from pathlib import Path

import mounting

sys.path.append(str(Path(__file__).resolve().parent.parent / "writers" / "hostile"))
import files  # noqa: E402, F401  used by importers

LARGEST_CHUNK = 32 << 20
CACHE = 16 << 20
OPTIONS = (f"max_chunk={LARGEST_CHUNK >> 20}M,cache_size={CACHE >> 20}M,threads=2,index=no",)
# Memory of the daemon beyond the configured limits: the program, and the tables of its catalogs.
DAEMON_MEMORY = 64 << 20
# An encoded and a decoded chunk, the codec's working memory, and the cache.
MAX_MEMORY = 3 * LARGEST_CHUNK + CACHE + DAEMON_MEMORY
SANITIZER_FACTOR = 6  # shadow memory, and freed memory in quarantine
QUARANTINE_MIB = 32  # 256 by default, which alone would take half of the allowed memory

GOOD = "riegeli/multiblock_zstd.riegeli"


@functools.cache
def is_sanitized():
    """Returns whether recordfs is built with a sanitizer. Reads the program, of 40 MB, only once."""
    program = Path(mounting.program("recordfs")).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


class HostileCase(mounting.Case):
    """Hostile files in a mirrored directory, beside a good one."""

    good = []  # names and contents of the good file's records, which the first case reads

    def setUp(self):
        super().setUp()
        self.source = self.folder / "source"
        self.source.mkdir()
        self.copy(GOOD, self.source / "good.riegeli")
        if not HostileCase.good:
            reference = self.mount(mounting.sample(GOOD))
            HostileCase.good = [(name, (reference / "records" / name).read_bytes())
                                for name in sorted(os.listdir(reference / "records"))]
            self.assertEqual(reference.unmount(), 0)

    def environment(self, user=None):
        changed = super().environment(user)
        changed["ASAN_OPTIONS"] += f":quarantine_size_mb={QUARANTINE_MIB}"
        return changed

    def mounted(self):
        return self.mount(self.source, options=OPTIONS)

    def peak_memory(self, mounted):
        """Returns the daemon's peak resident memory in bytes."""
        status = Path(f"/proc/{mounted.daemon.pid}/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"^VmHWM:\s+(\d+)", status, re.MULTILINE).group(1))

    def assert_in_bounds(self, mounted, bound, what):
        peak = self.peak_memory(mounted)
        self.assertLess(peak, bound * (SANITIZER_FACTOR if is_sanitized() else 1), what)
        return peak

    def read_a_good_record(self, mounted, number):
        """Compares record number `number` of the good file; consecutive numbers read records that are not cached."""
        number %= len(self.good)
        self.assertEqual((mounted / "good.riegeli" / "records" / self.good[number][0]).read_bytes(), self.good[number][1])
