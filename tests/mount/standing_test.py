#!/usr/bin/env python3
"""Notification of a complete mount: --ready-fd, and systemd's NOTIFY_SOCKET."""
import os
import socket

import mounting

SAMPLE = "riegeli/simple_snappy.riegeli"


class Ready(mounting.Case):
    user = None

    def setUp(self):
        super().setUp()
        self.point = self.new_point(self.user)
        self.socket = self.enter(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.socket.settimeout(mounting.PATIENCE)

    def start(self, *words, notify=None, **options):
        environment = self.environment(self.user)
        if notify is not None:
            environment["NOTIFY_SOCKET"] = notify
        return mounting.run(mounting.program("recordfs"), *words, user=self.user, env=environment, **options)

    def read_ready_fd(self, *words):
        """Runs recordfs with --ready-fd. Returns (bytes up to the end of the pipe, finished command)."""
        ours, theirs = os.pipe()
        try:
            done = self.start("--ready-fd", theirs, *words, pass_fds=[theirs])
        finally:
            os.close(theirs)
        with open(ours, "rb") as pipe:
            return pipe.read(), done

    def test_ready_fd_gets_a_newline_and_is_closed_while_the_mount_serves(self):
        for extra in ([], ["-o", "auto_unmount"]):
            received, done = self.read_ready_fd(mounting.sample(SAMPLE), self.point, *extra)
            self.assertEqual((received, done.returncode, done.stderr), (b"\n", 0, ""))
            self.assertEqual(mounting.mounts()[str(self.point)][0], "fuse.recordfs")
            self.assertEqual(mounting.run("fusermount3", "-u", self.point, user=self.user).returncode, 0)

    def test_foreground_daemon_writes_to_ready_fd(self):
        ours, theirs = os.pipe()
        with mounting.started(mounting.program("recordfs"), "-f", f"--ready-fd={theirs}", mounting.sample(SAMPLE), self.point,
                              user=self.user, pass_fds=[theirs], env=self.environment(self.user)) as running:
            os.close(theirs)
            with open(ours, "rb") as pipe:
                self.assertEqual(pipe.read(), b"\n")
            self.assertEqual(mounting.run("fusermount3", "-u", self.point, user=self.user).returncode, 0)
            self.assertEqual(running.wait(mounting.PATIENCE), 0)

    def test_ready_fd_is_closed_without_a_newline_on_failure(self):
        for words in ((self.folder / "gone", self.point), (mounting.sample(SAMPLE), self.folder / "gone/deeper"),
                      (mounting.sample(SAMPLE), self.point, "-o", "frobnicate")):
            received, done = self.read_ready_fd(*words)
            self.assertEqual(received, b"")
            self.assertNotEqual(done.returncode, 0)

    def test_ready_fd_can_be_standard_output(self):
        done = self.start("--ready-fd=1", mounting.sample(SAMPLE), self.point)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "\n", ""))

    def fields(self):
        return dict(line.split("=", 1) for line in self.socket.recv(65536).decode().splitlines())

    def test_systemd_is_notified_of_a_background_daemon(self):
        path = self.folder / "notify"
        self.socket.bind(str(path))
        path.chmod(0o777)
        self.assertEqual(self.start(mounting.sample(SAMPLE), self.point, notify=str(path)).returncode, 0)
        fields = self.fields()
        self.assertEqual(fields["READY"], "1")
        self.assertEqual(fields["STATUS"], f"{mounting.sample(SAMPLE)} on {self.point}")
        self.assertEqual([int(fields["MAINPID"])], mounting.daemons(self.point))


@mounting.only_root
class ReadyForOrdinaryUsers(Ready):
    user = mounting.NOBODY


if __name__ == "__main__":
    mounting.main()
