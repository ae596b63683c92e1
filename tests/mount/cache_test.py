#!/usr/bin/env python3
"""A folder of saved indexes that is full, read-only or missing, or that has truncated, foreign or forged files: the mount
works as without one."""
import os

import faulty
import mounting

SAMPLE = "riegeli/multiblock_zstd.riegeli"


class Cache(faulty.Case):
    def setUp(self):
        super().setUp()
        self.source = self.put(SAMPLE)
        os.utime(self.backing / self.source.name, (1, 1))
        self.expected, _ = self.truth(self.source)
        self.cache = self.folder / "cache"
        self.cache.mkdir(mode=0o700)

    def assert_right(self, *, slow=False, cache=None, why=None):
        """Mounts, and checks the content. `why`: the reason the log gives for not saving an index."""
        self.fault("slow 250" if slow else "none")  # the index of a quick scan is not saved
        mounted = self.mount(self.source, options=[f"index={cache or self.cache}"], flags=["-f", "-v"])
        os.listdir(mounted / "chunks")
        self.fault()
        self.assertEqual(self.snapshot(mounted.point, self.files_of(self.expected)), self.expected)
        if why:
            mounted.wait_for_log(f"{self.source}: cannot save the index in .*: {why}")
        self.assertEqual(mounted.unmount(), 0)
        return mounted.log()

    def saved_by(self, source):
        """Returns {name: content} of what `recordfs index` saves for a source."""
        self.fault()
        folder = self.folder / f"saved-{source.name}"
        done = self.recordfs("index", source, "--index", folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def save(self, name, content):
        path = self.cache / name
        path.write_bytes(content)
        path.chmod(0o600)

    @mounting.only_root
    def test_full_disk_leaves_no_partial_index(self):
        mounting.run("mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "none", self.cache)
        self.addCleanup(mounting.run, "umount", "-l", self.cache)
        with (self.cache / "filler").open("wb", buffering=0) as filler, self.assertRaises(OSError):
            while True:
                filler.write(bytes(512))
        self.assert_right(slow=True, why="cannot write: No space left on device")
        self.assertEqual(os.listdir(self.cache), ["filler"], "a partial file is left")

    @mounting.only_root
    def test_read_only_folder_does_not_fail_the_mount(self):
        mounting.run("mount", "-t", "tmpfs", "-o", "ro,mode=700", "none", self.cache)
        self.addCleanup(mounting.run, "umount", "-l", self.cache)
        self.assert_right(slow=True, why="cannot create a file: Read-only file system")

    def test_index_that_is_not_a_regular_file_is_not_used(self):
        for name in self.saved_by(self.source):
            for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
                make(self.cache / name)
                self.assertNotIn("found the saved index", self.assert_right())
                (self.cache / name).rmdir() if (self.cache / name).is_dir() else (self.cache / name).unlink()

    def test_valid_index_is_used(self):
        """Proves that the other cases can fail."""
        for name, content in self.saved_by(self.source).items():
            self.save(name, content)
        self.assertIn("found the saved index", self.assert_right())


if __name__ == "__main__":
    mounting.main()
