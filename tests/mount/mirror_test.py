#!/usr/bin/env python3
"""A directory as the source: its tree is shown, with containers as directories."""
import errno
import os
import socket
import stat
from pathlib import Path

import mounting
from mirroring import Mirrored, tree_of

SAMPLES = ["riegeli/simple_zstd9.riegeli", "riegeli/multiblock_zstd.riegeli", "bloscpack/v2-2.blp"]
# Whole files of less than 64 bytes.
SHORT_SAMPLES = ["leveldb_log/one-empty-record.log", "leveldb_log/batch-with-wrong-count.log",
                 "leveldb_log/leveldb-plyvel-a/MANIFEST-000002", "tfrecord/one.tfrecord", "wandb/empty-records.wandb",
                 "recordio/legacy-unpacked-one.grail-rio", "bloscpack/v3-1byte.blp", "rocksdb_blob/no-records-closed.blob"]


class Content(Mirrored):
    def test_files_links_and_folders_are_unchanged(self):
        self.write("plain.txt", b"text\n")
        self.write("empty", b"")
        self.write("a/b/c/large.bin", os.urandom(3_000_000))
        (self.source / "a/none").mkdir()
        (self.source / "a/link").symlink_to("b/c")
        (self.source / "dangling").symlink_to("nowhere")
        for name in (b"line\nbreak", b"not \xff utf-8 \xc3", b" ", b"~", b"%41", b"x" * 255):
            Path(os.fsdecode(os.path.join(os.fsencode(self.source), name))).write_bytes(name)
        mounted = self.mirror()
        self.assertEqual(tree_of(mounted.point), tree_of(self.source))

    def test_containers_are_directories_with_the_file_name(self):
        for number, name in enumerate(SAMPLES):
            self.put(f"deep/{number}/{Path(name).name}", name)
        mounted = self.mirror()
        for number, name in enumerate(SAMPLES):
            alone = self.mount(mounting.sample(name))
            self.assertEqual(tree_of(mounted / f"deep/{number}/{Path(name).name}"), tree_of(alone.point))

    def test_shortest_containers_are_directories_and_empty_files_are_not(self):
        # A source with a MANIFEST of its own would be shown as a database.
        for name in SHORT_SAMPLES:
            self.assertLess(self.put(f"below/{Path(name).name}", name).stat().st_size, 64)
        for name in ("empty.log", "empty.tfrecord"):
            self.write(f"below/{name}", b"")
        mounted = self.mirror()
        for name in SHORT_SAMPLES:
            alone = self.mount(mounting.sample(name))
            self.assertEqual(tree_of(mounted / "below" / Path(name).name), tree_of(alone.point), name)
        for name in ("empty.log", "empty.tfrecord"):
            self.assertEqual((mounted / "below" / name).read_bytes(), b"")

    def test_listing_returns_types(self):
        self.put("container")
        self.write("file", b"x")
        (self.source / "folder").mkdir()
        (self.source / "link").symlink_to("file")
        with os.scandir(self.mirror().point) as entries:
            types = {entry.name: (entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries}
        self.assertEqual(types, {"container": (True, False), "file": (False, False), "folder": (True, False),
                                 "link": (False, True)})

    def test_special_files_are_hidden(self):
        os.mkfifo(self.source / "fifo")
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(self.source / "socket"))
        if mounting.is_root():
            os.mknod(self.source / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        self.write("file", b"x")
        mounted = self.mirror()
        self.assertEqual(self.names(mounted), ["file"])
        for name in ("fifo", "socket", "device"):
            self.assert_fails_with(errno.ENOENT, os.lstat, mounted / name)

    def test_dot_and_dot_dot_have_the_right_inode_numbers(self):
        self.put("sub/container")
        mounted = self.mirror()
        done = mounting.run("ls", "-ia1", mounted / "sub")
        listed = {line.split()[1]: int(line.split()[0]) for line in done.stdout.splitlines()}
        self.assertEqual(listed["."], os.stat(mounted / "sub").st_ino)
        self.assertEqual(listed[".."], os.stat(mounted.point).st_ino)

    def test_nest_shows_the_directory_itself(self):
        self.write("file", b"x")
        self.assertEqual(self.names(self.mirror(options=["nest"])), ["source"])

    def test_link_to_a_directory_can_be_a_source(self):
        self.write("file", b"x")
        (self.folder / "link").symlink_to(self.source)
        self.assertEqual(self.names(self.mount(self.folder / "link")), ["file"])

    def test_empty_directory_can_be_a_source(self):
        self.assertEqual(self.names(self.mirror()), [])

    def test_directory_without_a_container_is_mounted_with_a_warning(self):
        self.write("below/words.txt", b"words\n")
        mounted = self.mirror()
        self.assertIn(f"recordfs: {self.source}: no record container in this directory\n", mounted.log())
        self.assertEqual(self.names(mounted), ["below"])

    def test_directory_with_a_container_has_no_warning(self):
        self.write("below/words.txt", b"words\n")
        self.put("below/good")
        self.assertNotIn("no record container", self.mirror().log())


class Permissions(Mirrored):
    def test_modes_are_those_of_the_source_and_only_owners_of_directories_write(self):
        wanted = {}
        for mode in (0o600, 0o644, 0o755, 0o444, 0o000, 0o4755):
            os.chmod(self.write(f"file{mode:o}", b"x"), mode)
            os.chmod(self.put(f"container{mode:o}"), mode)
            wanted[f"file{mode:o}"] = stat.S_IFREG | mode & 0o555
            if mode & 0o444 or mounting.is_root():
                readable = mode & 0o444
                wanted[f"container{mode:o}"] = stat.S_IFDIR | readable | readable >> 2 | (readable & 0o400) >> 1
        for mode in (0o755, 0o700, 0o711, 0o1777, 0o555):
            (self.source / f"folder{mode:o}").mkdir()
            os.chmod(self.source / f"folder{mode:o}", mode)
            wanted[f"folder{mode:o}"] = stat.S_IFDIR | mode & 0o755
        mounted = self.mirror()
        self.assertEqual({name: os.stat(mounted / name).st_mode for name in wanted}, wanted)
        for name in wanted:
            self.assertEqual(os.stat(mounted / name).st_mtime_ns, os.stat(self.source / name).st_mtime_ns, name)

    def test_uid_gid_and_umask_apply_to_everything(self):
        self.put("container")
        self.write("folder/file", b"x")
        mounted = self.mirror(options=["uid=12", "gid=34", "umask=077"])
        for name, mode in (("", 0o40700), ("container", 0o40700), ("folder", 0o40700), ("folder/file", 0o100400),
                           ("container/info.json", 0o100400)):
            status = os.stat(mounted / name)
            self.assertEqual((status.st_uid, status.st_gid, status.st_mode), (12, 34, mode), name)

    @mounting.only_root
    def test_ordinary_user_cannot_read_what_the_source_forbids(self):
        self.write("open", b"x")
        os.chmod(self.write("closed", b"secret"), 0o600)
        os.chmod(self.put("container"), 0o600)
        self.write("folder/file", b"x")
        os.chmod(self.source / "folder", 0o700)
        mounted = self.mirror(user=mounting.NOBODY)
        self.assertEqual(mounting.run("cat", mounted / "open", user=mounting.NOBODY).stdout, "x")
        for path in ("closed", "container"):
            done = mounting.run("cat", mounted / path, user=mounting.NOBODY)
            self.assertIn("Permission denied", done.stderr)
        self.assertIn("Permission denied", mounting.run("ls", mounted / "folder", user=mounting.NOBODY).stderr)
        listed = mounting.run("ls", "-l", mounted.point, user=mounting.NOBODY)
        self.assertEqual((listed.returncode, len(listed.stdout.splitlines())), (0, 5))

    @mounting.only_root
    def test_daemon_without_permission_returns_its_error(self):
        """The kernel lets the readers through, because of the umask option."""
        os.chmod(self.write("closed", b"secret"), 0o600)
        os.chmod(self.put("container"), 0o600)
        mounted = self.mirror(user=mounting.NOBODY, options=["umask=000"])
        for name in ("closed", "container"):
            done = mounting.run("cat", mounted / name, user=mounting.NOBODY)
            self.assertIn("Permission denied", done.stderr)
            self.assertTrue(stat.S_ISREG(int(mounting.run("stat", "-c", "%f", mounted / name,
                                                          user=mounting.NOBODY).stdout, 16)))


class Space(Mirrored):
    def test_statfs_returns_the_used_space_of_the_source_filesystem(self):
        self.write("file", b"x")
        shown = os.statvfs(self.mirror().point)
        below = os.statvfs(self.source)
        self.assertAlmostEqual(shown.f_blocks * shown.f_frsize, (below.f_blocks - below.f_bfree) * below.f_frsize,
                               delta=1 << 30)
        self.assertEqual(shown.f_bfree, 0)


if __name__ == "__main__":
    mounting.main()
