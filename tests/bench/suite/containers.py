"""The generated containers: written once by make_data, kept, and in the page cache when they are measured."""
import shutil
import subprocess
import sys

from comparing import Skipped

AVERAGE_SIZE = {"lines": 600, "events": 600, "wide": 400, "examples": 1200, "tiny": 20, "large": 200_000_000}
KEPT_FREE = 2 << 30  # bytes of disk that the suite leaves free


class Containers:
    def __init__(self, settings):
        self._settings = settings
        self._warm = set()

    def file(self, form, records, kind="lines", options=()):
        """Returns the path of a container with `records` records. `options` are further ones of make_data. Raises
        Skipped if the disk is too full for it."""
        target = self._settings.data / f"{kind}{''.join(options)}-{records}.{form}"
        if not target.exists():
            self._write(form, records, kind, options, target)
        if target not in self._warm and kind != "large":
            subprocess.run(["cat", target], stdout=subprocess.DEVNULL, check=True)
            self._warm.add(target)
        return target

    def _write(self, form, records, kind, options, target):
        free, needed = shutil.disk_usage(target.parent).free, records * AVERAGE_SIZE[kind]
        if free < needed + KEPT_FREE:
            raise Skipped(f"{target.name} may need {needed >> 20} MiB, and the disk has {free >> 20} MiB")
        print(f"writing {target.name}", file=sys.stderr, flush=True)
        fresh = target.with_suffix(".new")
        subprocess.run([self._settings.program("make_data"), form, str(records), fresh, f"--kind={kind}",
                        *options], check=True)
        fresh.rename(target)
