#!/usr/bin/env python3
"""Mounting through mount(8) and fstab(5), and on devices that another program has opened."""
import os
import signal
import stat
from pathlib import Path

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"
OPTIONS = ["defaults", "nofail", "_netdev", "noauto", "user", "users", "x-systemd.automount", "x-systemd.device-timeout=5",
           "x-systemd.requires=a.service", "X-thing", "comment=text", "ro", "noatime"]


class Mount8(mounting.Case):
    """In a mount namespace in which /sbin can have the program, as after installation."""

    def setUp(self):
        super().setUp()
        self.source = self.copy(SAMPLE, "data.riegeli")
        self.point = self.new_point()
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        (self.programs / "mount.recordfs").symlink_to(mounting.program("recordfs"))
        (self.programs / "recordfs").symlink_to(mounting.program("recordfs"))

    def mount_by(self, *words, user=None, cwd=None):
        environment = dict(self.environment(user), PATH=f"{self.programs}:{os.environ['PATH']}")
        return mounting.run(*words, user=user, cwd=cwd, env=environment)

    def assert_mounts(self, *words, **options):
        done = self.mount_by(*words, **options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def assert_serves_and_ends(self, point=None, user=None):
        point = point or self.point
        self.assertEqual(mounting.mounts()[str(point)][0], "fuse.recordfs")
        done = mounting.run("ls", point / "records", user=user)
        self.assertEqual(done.stdout.count("\n"), 500, done.stderr)
        self.assertEqual(mounting.run("umount", point, user=user).returncode, 0)

    def install_in_sbin(self):
        """Puts the program's second name, and libfuse's helpers, into /sbin until the end of the case."""
        for name in ("mount.fuse3", "mount.fuse"):
            (self.programs / name).write_bytes(Path("/sbin", name).read_bytes())
            (self.programs / name).chmod(0o755)
        self.hide("/usr/sbin", self.programs)

    def hide(self, place, replacement):
        self.assertEqual(mounting.run("mount", "--bind", replacement, place).returncode, 0)
        self.addCleanup(mounting.run, "umount", place)

    def fstab(self, *lines):
        path = self.folder / "fstab"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path


class AsMountRecordfs(Mount8):
    def start(self, *words, status=0, **options):
        done = self.mount_by(self.programs / "mount.recordfs", *words, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_mount_recordfs_accepts_arguments_of_mount(self):
        self.start(self.source, self.point, "-o", "rw,nofail,x-systemd.automount,nest")
        self.assertEqual(os.listdir(self.point), ["data.riegeli"])

    def test_flags_have_the_meaning_of_mount(self):
        self.start(self.source, self.point, "-sv", "-n", "-o", "frobnicate,rw", "-t", "fuse.recordfs")
        self.assertEqual(len(os.listdir(self.point / "records")), 500)

    def test_fake_mounts_nothing(self):
        self.start(self.source, self.point, "-f", "-o", "rw")
        self.assertNotIn(str(self.point), mounting.mounts())

    def test_unknown_option_is_refused_unless_sloppy(self):
        self.assertIn("frobnicate", self.start(self.source, self.point, "-o", "frobnicate", status=1).stderr)

    def test_command_names_are_files(self):
        self.copy(SAMPLE, "cat")
        self.start("cat", self.point, cwd=self.folder)
        self.assertEqual(len(os.listdir(self.point / "records")), 500)

    def test_mount_point_is_not_created(self):
        self.assertIn("No such file", self.start(self.source, self.folder / "gone", status=3).stderr)
        self.assertFalse((self.folder / "gone").exists())

    def test_missing_source_is_reported(self):
        self.assertIn("gone", self.start(self.folder / "gone", self.point, status=2).stderr)

    def test_help_and_version_are_printed(self):
        self.assertIn("mount.recordfs SOURCE DIRECTORY", self.start("--help").stdout)
        self.assertIn("libfuse", self.start("-V").stdout)


@mounting.only_root
class ThroughMount(Mount8):
    def setUp(self):
        super().setUp()
        self.install_in_sbin()

    def only_in(self, directory):
        """Installs the program in `directory` and removes it from PATH. Returns its path."""
        program = directory / "recordfs"
        if directory.is_relative_to(self.folder):
            directory.mkdir()
        else:
            installed = self.folder / "installed"
            installed.mkdir()
            self.hide(directory, installed)
        program.symlink_to(mounting.program("recordfs"))
        for name in ("recordfs", "mount.recordfs"):
            (self.programs / name).unlink()
        return program

    def test_type_fuse_recordfs_finds_a_program_in_usr_local_bin(self):
        self.only_in(Path("/usr/local/bin"))
        self.assert_mounts("mount", "-t", "fuse.recordfs", self.source, self.point)
        self.assert_serves_and_ends()

    def test_type_fuse_recordfs_does_not_search_path(self):
        program = self.only_in(self.folder / "elsewhere")
        done = mounting.run("mount", "-t", "fuse.recordfs", self.source, self.point,
                            env=dict(self.environment(), PATH=f"{program.parent}:{os.environ['PATH']}"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("recordfs: not found", done.stderr)

    def test_type_fuse_accepts_a_program_path(self):
        program = self.only_in(self.folder / "elsewhere")
        self.assert_mounts("mount", "-t", "fuse", f"{program}#{self.source}", self.point)
        self.assert_serves_and_ends()

    def test_relative_paths_are_accepted(self):
        for kind in ("recordfs", "fuse.recordfs"):
            self.assert_mounts("mount", "-t", kind, "data.riegeli", self.point.name, cwd=self.folder)
            self.assert_serves_and_ends()

    def test_flags_of_mount_are_accepted(self):
        self.assert_mounts("mount", "-n", "-r", "-t", "recordfs", "-o", "allow_other", self.source, self.point)
        self.assertIn("allow_other", mounting.mounts()[str(self.point)][2])
        self.assert_serves_and_ends()
        self.assert_mounts("mount", "-s", "-t", "recordfs", "-o", "frobnicate", self.source, self.point)
        self.assert_serves_and_ends()

    def test_mount_all_of_fstab(self):
        other = self.new_point()
        table = self.fstab(f"{self.source} {self.point} recordfs nofail,_netdev,x-systemd.automount 0 0",
                           f"{self.source} {other} fuse.recordfs ro,comment=text 0 0")
        self.assertEqual(self.mount_by("mount", "-a", "-T", table).returncode, 0)
        self.assert_serves_and_ends()
        self.assert_serves_and_ends(other)

    def test_each_option_of_fstab_is_accepted(self):
        for option in OPTIONS:
            with self.subTest(option=option):
                table = self.fstab(f"{self.source} {self.point} recordfs {option} 0 0")
                self.assert_mounts("mount", "-T", table, self.point)
                self.assert_serves_and_ends()

    def test_own_options_in_fstab_apply(self):
        table = self.fstab(f"{self.source} {self.point} recordfs noauto,record_suffix=.pb,nest,umask=077,cache_size=1M 0 0")
        self.assert_mounts("mount", "-T", table, self.point)
        self.assertIn("000000499.pb", os.listdir(self.point / "data.riegeli/records"))
        self.assertEqual(stat.S_IMODE(self.point.stat().st_mode), 0o700)

    def test_ordinary_user_mounts_a_line_of_fstab(self):
        os.chown(self.point, mounting.NOBODY, mounting.NOBODY)
        self.hide("/etc/fstab", self.fstab(f"{self.source} {self.point} recordfs noauto,user 0 0"))
        self.assert_mounts("mount", self.point, user=mounting.NOBODY)
        self.assertIn(f"user_id={mounting.NOBODY}", mounting.mounts()[str(self.point)][2])
        done = mounting.run("ls", self.point / "records", user=mounting.NOBODY)
        self.assertEqual(done.stdout.count("\n"), 500, done.stderr)
        self.assertEqual(mounting.run("fusermount3", "-u", self.point, user=mounting.NOBODY).returncode, 0)

    def test_mount_into_another_namespace(self):
        with mounting.started("unshare", "--mount", "--propagation", "private", "sh", "-c", "echo; exec sleep 1000") as other:
            other.stdout.read(1)
            self.assert_mounts("mount", "-N", other.pid, "-t", "recordfs", self.source, self.point)
            self.assertNotIn(str(self.point), mounting.mounts())
            self.assertIn(f" {self.point} fuse.recordfs ", Path(f"/proc/{other.pid}/mounts").read_text(encoding="utf-8"))
            listed = mounting.run("nsenter", f"--mount=/proc/{other.pid}/ns/mnt", "ls", self.point / "records")
            self.assertEqual(listed.stdout.count("\n"), 500, listed.stderr)
            ended = mounting.run("nsenter", f"--mount=/proc/{other.pid}/ns/mnt", "umount", self.point)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            mounting.wait_for(lambda: not mounting.daemons(self.point), "the daemon's end")


@mounting.only_root
class OpenedDevice(Mount8):
    """/dev/fd/N: mount.fuse3 or a container runtime has made the mount before it starts the program."""

    def open_and_mount(self, user):
        device = os.open("/dev/fuse", os.O_RDWR)
        self.addCleanup(os.close, device)
        data = f"fd={device},rootmode=40000,user_id={user},group_id={user},default_permissions,allow_other"
        mounting.mount2("handed", self.point, "fuse.recordfs",
                        mounting.MS_RDONLY | mounting.MS_NOSUID | mounting.MS_NODEV, data)
        self.addCleanup(mounting.run, "umount", "-l", self.point)
        return device

    def serve(self, user, *flags):
        device = self.open_and_mount(user or 0)
        return self.recordfs(self.source, f"/dev/fd/{device}", *flags, user=user, pass_fds=[device])

    def test_background_daemon_serves_an_opened_device(self):
        done = self.serve(None)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assert_serves_and_ends()

    def test_daemon_of_an_ordinary_user_serves_an_opened_device(self):
        done = self.serve(mounting.NOBODY)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assert_serves_and_ends()

    def test_mount_command_serves_an_opened_device(self):
        device = self.open_and_mount(0)
        done = self.recordfs("mount", self.source, f"/dev/fd/{device}", pass_fds=[device])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assert_serves_and_ends()

    def test_foreground_daemon_serves_an_opened_device_until_a_signal(self):
        device = self.open_and_mount(0)
        with mounting.started(mounting.program("recordfs"), self.source, f"/dev/fd/{device}", "-f", pass_fds=[device],
                              env=self.environment()) as running:
            self.assertEqual(len(os.listdir(self.point / "records")), 500)
            running.send_signal(signal.SIGTERM)
            self.assertEqual(running.wait(mounting.PATIENCE), 0)

    def test_invalid_descriptor_is_reported(self):
        done = self.recordfs(self.source, "/dev/fd/777")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_timeout_is_refused_for_an_opened_device(self):
        done = self.recordfs(self.source, "/dev/fd/777", "-o", "timeout=1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("timeout", done.stderr)

    def test_privileged_helper_passes_the_device_to_an_unprivileged_server(self):
        helper = Path(mounting.place.checkout, "fusefs", "install", "engines", "fuse_descriptor.py")
        passed = self.folder / "passed"
        passed.mkdir()
        os.chown(passed, mounting.NOBODY, mounting.NOBODY)
        with mounting.started("python3", helper, "give", passed / "socket", self.point, str(mounting.NOBODY)) as giving:
            with mounting.started("python3", helper, "take", passed / "socket", mounting.program("recordfs"), self.source,
                                  "{}", "-f", user=mounting.NOBODY, env=self.environment(mounting.NOBODY)) as serving:
                mounting.wait_for(lambda: str(self.point) in mounting.mounts(), "the mount")
                listed = mounting.run("ls", self.point / "records", user=mounting.NOBODY)
                self.assertEqual(listed.stdout.count("\n"), 500, listed.stderr)
                self.assertEqual(Path(f"/proc/{serving.pid}").stat().st_uid, mounting.NOBODY)
                giving.send_signal(signal.SIGTERM)
                self.assertEqual(giving.wait(mounting.PATIENCE), 0)
                self.assertNotIn(str(self.point), mounting.mounts())
                self.assertEqual(serving.wait(mounting.PATIENCE), 0)

    def test_mount_fuse_with_drop_privileges_mounts(self):
        self.install_in_sbin()
        self.assert_mounts("mount", "-t", "fuse.recordfs", "-o", "drop_privileges", self.source, self.point)
        self.assert_serves_and_ends()


if __name__ == "__main__":
    mounting.main()
