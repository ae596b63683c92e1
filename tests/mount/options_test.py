#!/usr/bin/env python3
"""Options of the command line and of mount(8)."""
import os
import signal

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
FSTAB = ["defaults", "rw", "ro", "nofail", "_netdev", "noauto", "auto", "user", "users", "owner", "x-systemd.automount",
         "x-systemd.device-timeout=5", "X-mount.mkdir", "x-gvfs-show", "comment=text", "noatime", "relatime", "nodev", "nosuid",
         "noexec", "suid", "dev", "exec", "sync", "async", "group", "nouser", "silent"]


class Accepted(mounting.Case):
    def assert_serves(self, mounted):
        self.assertEqual(len(os.listdir(mounted / "records")), 500)
        self.assertEqual(mounted.unmount(), 0)

    def test_options_of_fstab_change_nothing(self):
        for option in FSTAB:
            with self.subTest(option=option):
                mounted = self.mount(mounting.sample(SAMPLE), options=[option])
                shown = mounting.mounts()[str(mounted.point)][2]
                self.assertEqual({"ro", "nosuid", "nodev", "noexec", "default_permissions"} - set(shown), set())
                self.assert_serves(mounted)

    def test_debug_stays_in_the_foreground_and_traces(self):
        mounted = self.mount(mounting.sample(SAMPLE), flags=["-d"])
        os.listdir(mounted / "records")
        mounted.wait_for_log("READDIR")
        self.assertEqual(mounted.unmount(), 0)

    def test_foreground_daemon_is_a_single_child(self):
        mounted = self.mount(mounting.sample(SAMPLE))
        os.lstat(mounted / "info.json")  # libfuse's fusermount3 has ended by now
        self.assertEqual(mounting.daemons(mounted.point), [mounted.daemon.pid])
        mounted.send(signal.SIGTERM)
        self.assertEqual(mounted.wait(), 0)

    def test_any_cache_size_serves(self):
        for size in ("0", "1", "1K", "1k", "1G"):
            mounted = self.mount(mounting.sample(SAMPLE), options=[f"cache_size={size}"])
            whole = b"".join((mounted / "records" / name).read_bytes() for name in sorted(os.listdir(mounted / "records")))
            self.assertEqual((mounted / "streams/concat").read_bytes(), whole)
            self.assertEqual(mounted.unmount(), 0)

    def test_small_max_read_serves(self):
        mounted = self.mount(mounting.sample("leveldb_log/embedded-log.log"), options=["max_read=4096"])
        sizes = [len(path.read_bytes()) - path.stat().st_size for path in (mounted / "records").iterdir()]
        self.assertEqual(set(sizes), {0})

    def test_mount_table_names_the_source(self):
        mounted = self.mount(mounting.sample(SAMPLE))
        self.assertEqual(mounting.mounts()[str(mounted.point)][:2], ("fuse.recordfs", str(mounting.sample(SAMPLE))))
        self.assertRegex(mounting.run("mount").stdout, rf"on {mounted.point} type fuse.recordfs \(ro,")

    def test_mount_table_and_df_show_the_absolute_path_of_a_relative_source(self):
        point, source = self.new_point(), self.copy(SAMPLE)
        (self.folder / "link").symlink_to(self.folder)
        for word in (source.name, f"./{source.name}", f"link/{source.name}"):
            with self.subTest(word=word):
                self.assertEqual(self.recordfs(word, point.name, cwd=self.folder).returncode, 0)
                self.assertEqual(mounting.mounts()[str(point)][1], str(source))
                self.assertEqual(mounting.run("df", "--output=source", point).stdout.split()[-1], str(source))
                found = mounting.run("findmnt", "--noheadings", "--output", "SOURCE,TARGET", point)
                self.assertEqual(found.stdout.split(), [str(source), str(point)])
                self.assertEqual(self.recordfs("umount", word, cwd=self.folder).returncode, 0)
        self.assertEqual(self.recordfs("./caches/", point.name, cwd=self.folder).returncode, 0)
        self.assertEqual(mounting.mounts()[str(point)][1], str(self.folder / "caches"))

    def test_source_with_comma_and_backslash_is_mounted(self):
        source = self.copy(SAMPLE, "a,b\\c d.riegeli")
        mounted = self.mount(source)
        self.assertEqual(mounting.mounts()[str(mounted.point)][1], str(source))

    def test_mount_point_with_spaces_and_non_ascii_letters_is_mounted(self):
        point = self.folder / "mät pøint"
        point.mkdir()
        self.assert_serves(self.mount(mounting.sample(SAMPLE), point=point))

    def test_relative_paths_are_resolved_before_the_daemon_changes_its_directory(self):
        point, source = self.new_point(), self.copy(SAMPLE)
        done = self.recordfs(source.name, point.name, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(os.listdir(point / "records")), 500)

    def test_signal_unmounts_from_a_relative_mount_point(self):
        source = self.copy(SAMPLE)
        for user in (None, mounting.NOBODY) if mounting.is_root() else (None,):
            for number, flags in enumerate(([], ["-f"])):
                point = self.folder / f"relative-{os.getpid()}-{user}-{number}"
                point.mkdir()
                if user is not None:
                    os.chown(point, user, user)
                with mounting.started(mounting.program("recordfs"), source.name, point.name, *flags, user=user,
                                      cwd=self.folder, env=self.environment()) as started:
                    mounting.wait_for(lambda: str(point) in mounting.mounts(), "the mount")
                    if not flags:
                        started.wait(mounting.PATIENCE)  # until then, the daemon is its child
                    mounting.run("stat", point / "info.json", user=user)  # returns once it serves
                    for daemon in mounting.daemons(point.name):
                        os.kill(daemon, signal.SIGTERM)
                    mounting.wait_for(lambda: not mounting.daemons(point.name), "the end of the daemon")
                    self.assertNotIn(str(point), mounting.mounts())
                    self.assertEqual(started.wait(mounting.PATIENCE), 0)

    def test_closed_standard_descriptors_do_not_matter(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            point = self.new_point()
            done = mounting.run("bash", "-c", f'"$@" {closed}', "bash", mounting.program("recordfs"), mounting.sample(SAMPLE), point,
                                env=self.environment())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len((point / "streams/concat").read_bytes()), (point / "streams/concat").stat().st_size)

    def test_mount_point_that_ends_with_a_dot_is_mounted(self):
        point = self.new_point()
        done = self.recordfs(mounting.sample(SAMPLE), f"{point}/.")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(os.listdir(point / "records")), 500)

    def test_nonempty_allows_a_mount_point_with_files(self):
        point = self.new_point()
        (point / "something").touch()
        self.assert_serves(self.mount(mounting.sample(SAMPLE), options=["nonempty"], point=point))


@mounting.only_root
class ThroughMount(mounting.Case):
    def test_mount_starts_the_program_with_unknown_options(self):
        point = self.new_point()
        done = mounting.run("mount", "-t", "fuse", "-o", "nofail,_netdev,nosymfollow,default_permissions,x-systemd.automount,allow_other",
                            f"{mounting.program('recordfs')}#{mounting.sample(SAMPLE)}", point, env=self.environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("allow_other", mounting.mounts()[str(point)][2])
        self.assertEqual(len(os.listdir(point / "records")), 500)
        self.assertEqual(mounting.run("umount", point).returncode, 0)

    def test_mount_with_drop_privileges_opens_the_device(self):
        point = self.new_point()
        done = mounting.run("mount", "-t", "fuse", "-o", "drop_privileges",
                            f"{mounting.program('recordfs')}#{mounting.sample(SAMPLE)}", point, env=self.environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(os.listdir(point / "records")), 500)
        self.assertEqual(mounting.run("umount", point).returncode, 0)


if __name__ == "__main__":
    mounting.main()
