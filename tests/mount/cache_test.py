#!/usr/bin/env python3
"""The folder of saved indexes is full, read-only or missing, or what is in it is torn, another file's, or forged: a mount
is as without one."""
import os

import faulty
import mounting

SAMPLE = "riegeli/multiblock_zstd.riegeli"
OTHER = "riegeli/simple_flush_every7.riegeli"
CUTS = 16  # prefixes of an index; tests/unit/store goes over the others


class Cache(faulty.Case):
    def setUp(self):
        super().setUp()
        self.source = self.put(SAMPLE)
        os.utime(self.backing / self.source.name, (1, 1))
        self.truth_of_it, _ = self.truth(self.source)
        self.cache = self.folder / "cache"
        self.cache.mkdir(mode=0o700)

    def assert_right(self, *, slow=False, cache=None, why=None):
        """A mount shows what is right, whatever is in the folder; `why`: why it saves nothing of a walk."""
        self.fault("slow 250" if slow else "none")  # so that the walk takes long enough to be saved
        mounted = self.mount(self.source, options=[f"index={cache or self.cache}"], flags=["-f", "-v"])
        os.listdir(mounted / "chunks")
        self.fault()
        self.assertEqual(self.seen(mounted.point, self.files_of(self.truth_of_it)), self.truth_of_it)
        if why:
            mounted.wait_for_log(f"{self.source}: what the walk has found is not saved in .*: {why}")
        self.assertEqual(mounted.unmount(), 0)
        return mounted.log()

    def saved_by(self, source):
        """What `recordfs index` saves, in a folder of its own."""
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
    def test_full_disk(self):
        mounting.run("mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "none", self.cache)
        self.addCleanup(mounting.run, "umount", "-l", self.cache)
        with (self.cache / "filler").open("wb", buffering=0) as filler, self.assertRaises(OSError):
            while True:
                filler.write(bytes(512))
        self.assert_right(slow=True, why="cannot write: No space left on device")
        self.assertEqual(os.listdir(self.cache), ["filler"], "nothing is left of what could not be written")

    @mounting.only_root
    def test_read_only_folder(self):
        mounting.run("mount", "-t", "tmpfs", "-o", "ro,mode=700", "none", self.cache)
        self.addCleanup(mounting.run, "umount", "-l", self.cache)
        self.assert_right(slow=True, why="cannot create a file: Read-only file system")

    def test_folder_that_cannot_be_made(self):
        (self.folder / "file").touch()
        self.assert_right(slow=True, cache=self.folder / "file/below/it", why="cannot open the folder")

    def test_missing_folder_is_made(self):
        log = self.assert_right(slow=True, cache=self.folder / "made/for it")
        self.assertIn("what the walk has found is saved in", log)
        self.assertIn("found the saved index", self.assert_right(cache=self.folder / "made/for it"))

    def test_torn_index(self):
        for name, content in self.saved_by(self.source).items():
            for cut in range(0, len(content), len(content) // CUTS):
                with self.subTest(cut=cut):
                    self.save(name, content[:cut])
                    self.assertNotIn("found the saved index", self.assert_right())

    def test_index_of_another_file(self):
        others = self.saved_by(self.put(OTHER))
        for name, content in zip(self.saved_by(self.source), others.values()):
            self.save(name, content)
            self.assertNotIn("found the saved index", self.assert_right())

    def test_index_of_another_version(self):
        for name, content in self.saved_by(self.source).items():
            self.save(name, content[:8] + (1).to_bytes(4, "little") + content[12:])
            self.assertNotIn("found the saved index", self.assert_right())

    def test_index_that_is_no_file(self):
        for name in self.saved_by(self.source):
            for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
                make(self.cache / name)
                self.assertNotIn("found the saved index", self.assert_right())
                (self.cache / name).rmdir() if (self.cache / name).is_dir() else (self.cache / name).unlink()

    def test_sound_index_is_used(self):
        """So that the others show something."""
        for name, content in self.saved_by(self.source).items():
            self.save(name, content)
        self.assertIn("found the saved index", self.assert_right())


if __name__ == "__main__":
    mounting.main()
