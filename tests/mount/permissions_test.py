#!/usr/bin/env python3
"""Permissions: a mount never lets a user read more than the source does."""
import errno
import os
import stat
import struct

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
ANOTHER_USER = 12345


def modes(top):
    return {name: stat.S_IMODE(os.lstat(top / name).st_mode) for name in ("", "info.json", "records", "records/000000003",
                                                                           ".views/index/chunks.tsv", ".views")}


class OwnMount(mounting.Case):
    def test_modes_are_derived_from_the_source(self):
        source = self.copy(SAMPLE)
        for source_mode, file_mode, directory_mode in [(0o644, 0o444, 0o755), (0o600, 0o400, 0o700), (0o440, 0o440, 0o750),
                                                       (0o777, 0o444, 0o755), (0o6755, 0o444, 0o755), (0o044, 0o044, 0o055)]:
            source.chmod(source_mode)
            got = modes(self.mount(source).point)
            self.assertEqual({got[name] for name in ("", "records", ".views")}, {directory_mode}, oct(source_mode))
            self.assertEqual({got[name] for name in got if "." in name and name != ".views"}, {file_mode}, oct(source_mode))

    def test_umask_replaces_the_modes_of_the_source(self):
        source = self.copy(SAMPLE)
        source.chmod(0o600)
        for mask, file_mode, directory_mode in [("022", 0o444, 0o755), ("0", 0o444, 0o755), ("077", 0o400, 0o700),
                                                ("027", 0o440, 0o750), ("0222", 0o444, 0o555)]:
            got = modes(self.mount(source, options=[f"umask={mask}"]).point)
            self.assertEqual((got["info.json"], got["records"]), (file_mode, directory_mode), mask)

    def test_each_container_has_its_own_mode(self):
        closed, opened = self.copy(SAMPLE, "closed.riegeli"), self.copy(SAMPLE, "opened.riegeli")
        closed.chmod(0o600)
        opened.chmod(0o644)
        top = self.mount(closed, opened).point
        self.assertEqual(stat.S_IMODE((top / "closed.riegeli").stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE((top / "opened.riegeli").stat().st_mode), 0o755)

    def test_uid_and_gid_options_set_the_owner(self):
        top = self.mount(self.copy(SAMPLE), options=[f"uid={ANOTHER_USER},gid=54321"]).point
        for name in ("info.json", "records", "records/000000001", "chunks", ".views/streams/concat"):
            st = os.lstat(top / name)
            self.assertEqual((st.st_uid, st.st_gid), (ANOTHER_USER, 54321), name)


@mounting.only_root
class OtherUsers(mounting.Case):
    def setUp(self):
        super().setUp()
        self.source = self.copy(SAMPLE)

    def reads(self, path, user=mounting.NOBODY):
        """Opens a file or lists a directory as a user. Returns 0 or an errno."""
        script = "import os,sys\ntry:\n os.listdir(sys.argv[1]) if os.path.isdir(sys.argv[1]) else open(sys.argv[1]).close()\n" \
                 "except OSError as e: sys.exit(e.errno)"
        return mounting.run("python3", "-c", script, path, user=user).returncode

    def test_private_file_is_unreadable_for_others(self):
        self.source.chmod(0o600)
        top = self.mount(self.source, options=["allow_other"]).point
        for name in ("", "info.json", "records", "records/000000000", "chunks/000000000000064/data", "streams/concat"):
            self.assertEqual(self.reads(top / name), errno.EACCES, name)
            self.assertEqual(self.reads(top / name, user=0), 0, name)

    def test_cached_record_is_unreadable_for_others(self):
        self.source.chmod(0o600)
        top = self.mount(self.source, options=["allow_other"]).point
        (top / "records/000000000").read_bytes()
        self.assertEqual(self.reads(top / "records/000000000"), errno.EACCES)

    def test_group_can_read_a_file_of_the_group(self):
        self.source.chmod(0o640)
        os.chown(self.source, 0, mounting.NOBODY)
        top = self.mount(self.source, options=["allow_other"]).point
        self.assertEqual(self.reads(top / "records/000000000"), 0)
        self.assertEqual(self.reads(top / "records/000000000", user=ANOTHER_USER), errno.EACCES)

    def private(self):
        """Moves the source to a directory that only root can search."""
        folder = self.folder / "private"
        folder.mkdir(mode=0o700)
        return self.source.rename(folder / self.source.name)

    def test_public_file_in_a_private_directory_is_unreadable_for_others(self):
        source = self.private()
        source.chmod(0o644)
        for mounted in (source, source.parent):
            top = self.mount(mounted, options=["allow_other"]).point
            self.assertEqual(self.reads(top), errno.EACCES, mounted)
            self.assertEqual(self.reads(top, user=0), 0, mounted)
        top = self.mount(source, options=["allow_other,umask=0"]).point
        self.assertEqual(self.reads(top / "info.json"), 0)

    def test_user_that_an_access_control_list_denies_cannot_read(self):
        self.source.chmod(0o644)
        entries = [(1, 6, 2**32 - 1), (2, 0, mounting.NOBODY), (4, 4, 2**32 - 1), (16, 4, 2**32 - 1), (32, 4, 2**32 - 1)]
        acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
        os.setxattr(self.source, "system.posix_acl_access", acl)
        self.assertEqual(self.reads(self.source), errno.EACCES)
        top = self.mount(self.source, options=["allow_other"]).point
        for name in ("", "info.json", "records/000000000"):
            self.assertEqual(self.reads(top / name), errno.EACCES, name)

    def test_others_are_refused_without_allow_other(self):
        self.source.chmod(0o644)
        top = self.mount(self.source).point
        self.assertEqual(self.reads(top / "info.json"), errno.EACCES)

    def test_uid_option_gives_access_to_that_user(self):
        self.source.chmod(0o600)
        top = self.mount(self.source, options=[f"allow_other,uid={ANOTHER_USER},umask=077"]).point
        self.assertEqual(self.reads(top / "records/000000000", user=ANOTHER_USER), 0)
        self.assertEqual(self.reads(top / "records/000000000"), errno.EACCES)

    def test_ordinary_user_can_mount_a_private_file(self):
        os.chown(self.source, mounting.NOBODY, mounting.NOBODY)
        self.source.chmod(0o600)
        mounted = self.mount(self.source, user=mounting.NOBODY)
        self.assertEqual(self.reads(mounted / "records/000000499"), 0)
        self.assertIn(f"user_id={mounting.NOBODY}", mounting.mounts()[str(mounted.point)][2])
        self.assertEqual(mounted.unmount(), 0)

    def test_ordinary_user_can_mount_in_the_background(self):
        point = self.new_point(mounting.NOBODY)
        done = self.recordfs(mounting.sample(SAMPLE), point, user=mounting.NOBODY)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.reads(point / "records/000000499"), 0)
        self.assertEqual(mounting.run("fusermount3", "-u", point, user=mounting.NOBODY).returncode, 0)

    def test_allow_root_lets_root_and_the_user_in_and_no_other(self):
        mounting.enable_user_allow_other(self)
        self.source.chmod(0o644)
        top = self.mount(self.source, options=["allow_root"], user=mounting.NOBODY).point
        for name in ("", "info.json", "records", "records/000000000"):
            for user in (mounting.NOBODY, 0):
                self.assertEqual(self.reads(top / name, user=user), 0, (name, user))
            # Even if the kernel has cached everything.
            self.assertEqual(self.reads(top / name, user=ANOTHER_USER), errno.EACCES, name)

    def test_allow_root_on_a_mount_of_root_refuses_others(self):
        self.source.chmod(0o644)
        for options in (["allow_root"], ["allow_root,umask=0"]):
            top = self.mount(self.source, options=options).point
            self.assertEqual(self.reads(top / "records/000000000", user=0), 0)
            self.assertEqual(self.reads(top / "records/000000000"), errno.EACCES)
            self.assertEqual(modes(top)["info.json"], 0o400)

    def test_root_is_refused_in_a_users_mount_without_allow_root(self):
        mounted = self.mount(mounting.sample(SAMPLE), user=mounting.NOBODY)
        self.assertEqual(self.reads(mounted / "info.json", user=0), errno.EACCES)


if __name__ == "__main__":
    mounting.main()
