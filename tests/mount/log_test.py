#!/usr/bin/env python3
"""The log: its amount, redacted names, log files, and the statistics that SIGUSR1 writes."""
import contextlib
import os
import re
import shutil
import signal
import socket
import time
from pathlib import Path

import mounting
import slow
from tfrecords import tfrecord

SAMPLE = "riegeli/multiblock_zstd.riegeli"
RECORDS = 1250
UNKNOWN_NAME = "recordio/v2-unknown-transformer.grail-rio"


class Amount(mounting.Case):
    def setUp(self):
        super().setUp()
        self.damaged = mounting.with_bit_flipped(self.copy(SAMPLE), 84003)

    def log_of(self, *flags):
        mounted = self.mount(self.damaged, flags=["-f", *flags])
        for name in os.listdir(mounted / "records"):
            with contextlib.suppress(OSError):
                (mounted / "records" / name).read_bytes()
        self.assertEqual(mounted.unmount(), 0)
        return mounted.log()

    def test_damage_is_logged(self):
        self.assertIn("byte 83928", self.log_of())

    def test_quiet_logs_only_errors(self):
        self.assertEqual(self.log_of("-q"), "")
        self.assertEqual(self.log_of("--quiet"), "")
        done = self.recordfs("-q", self.damaged, self.folder / "above/gone")
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot mount", done.stderr)

    def test_verbose_logs_opening_and_scanning(self):
        log = self.log_of("-v")
        self.assertIn(f"{self.damaged}: riegeli, {self.damaged.stat().st_size} bytes", log)
        self.assertRegex(log, rf"{self.damaged}: scanned its headers in \d+ ms: \d+ chunks, {RECORDS} records")
        self.assertIn("byte 83928", log)
        self.assertNotIn("scanned its", self.log_of())


class Redacted(mounting.Case):
    def assert_redacted(self, log, *names):
        for name in names:
            self.assertNotIn(str(name), log)

    def test_source_is_replaced_by_a_number(self):
        source = mounting.with_bit_flipped(self.copy(SAMPLE, "secret-name.riegeli"), 84003)
        mounted = self.mount(source, flags=["-f", "-v"], options=["redact"])
        for name in os.listdir(mounted / "records"):
            with contextlib.suppress(OSError):
                (mounted / "records" / name).read_bytes()
        mounted.send(signal.SIGUSR1)
        mounted.wait_for_log("source 1: .*complete")
        mounted.wait_for_log("source 1: byte 83928: ")
        self.assertEqual(mounted.unmount(), 0)
        self.assert_redacted(mounted.log(), "secret", mounted.point)

    def test_files_of_a_directory_are_numbered(self):
        (self.folder / "secret-folder").mkdir()
        for number in (1, 2):
            path = mounting.with_bit_flipped(self.copy(SAMPLE, f"secret-folder/secret-{number}.riegeli"), 84003)
        # A file written within the last 0.1 s is opened again at each access.
        mounting.wait_for(lambda: time.time() - path.stat().st_ctime > 0.1, "the file to be old enough")
        mounted = self.mount(self.folder / "secret-folder", flags=["-f", "-v"], options=["redact"])
        for container in mounted.point.iterdir():
            for name in os.listdir(container / "records"):
                with contextlib.suppress(OSError):
                    (container / "records" / name).read_bytes()
        mounted.wait_for_log("mirrored file 2: byte 83928: ")
        mounted.send(signal.SIGUSR1)
        mounted.wait_for_log("mirrored containers: 2 open")
        self.assertEqual(mounted.unmount(), 0)
        self.assert_redacted(mounted.log(), "secret", mounted.point)

    def test_followed_file_is_redacted_after_a_rename(self):
        source = self.copy(SAMPLE, "secret.riegeli")
        mounted = self.mount(source, flags=["-f", "-v"], options=["redact,follow"])
        self.assertEqual(len(os.listdir(mounted / "records")), RECORDS)
        source.rename(self.folder / "secret-moved.riegeli")
        mounted.wait_for_log("source 1: moved, removed or replaced")
        self.assertEqual(mounted.unmount(), 0)
        self.assert_redacted(mounted.log(), "secret", mounted.point)

    def test_failure_to_open_is_redacted(self):
        done = self.recordfs(self.copy(SAMPLE), self.folder / "secret", self.new_point(), "-o", "redact")
        self.assertEqual(done.returncode, 2)
        self.assertIn("source 2: cannot open: No such file", done.stderr)
        self.assert_redacted(done.stderr, "secret")

    def test_names_from_the_content_are_redacted(self):
        for options, want in (([], 'unknown transformer "xor 33"'), (["redact"], 'unknown transformer "..."')):
            mounted = self.mount(mounting.sample(UNKNOWN_NAME), options=options)
            with contextlib.suppress(OSError):
                (mounted / "records/000000000").read_bytes()
            self.assertIn(want, mounted.wait_for_log("transformer"))
            self.assertEqual(mounted.unmount(), 0)

    def test_status_for_systemd_is_redacted(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
            listening.bind(str(self.folder / "notify"))
            listening.settimeout(mounting.PATIENCE)
            environment = dict(self.environment(), NOTIFY_SOCKET=str(self.folder / "notify"))
            source = self.copy(SAMPLE, "secret.riegeli")
            done = mounting.run(mounting.program("recordfs"), source, self.new_point(), "-o", "redact", env=environment)
            self.assertEqual(done.returncode, 0)
            self.assertIn("STATUS=source 1 on mount point\n", listening.recv(65536).decode())


class LogFile(mounting.Case):
    LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4} recordfs\[\d+\]: (error|warning|notice|info): ")

    def setUp(self):
        super().setUp()
        self.source = mounting.with_bit_flipped(self.copy(SAMPLE, "secret.riegeli"), 84003)
        self.log = self.folder / "daemon.log"
        self.point = self.new_point()

    def read_all(self):
        for name in os.listdir(self.point / "records"):
            with contextlib.suppress(OSError):
                (self.point / "records" / name).read_bytes()

    def lines(self):
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    def start(self, *words, **options):
        done = self.recordfs(self.source, self.point, *words, **options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_background_daemon_writes_lines_with_time_process_and_level(self):
        self.start("-o", f"log={self.log}")
        daemon = mounting.daemons(self.point)[0]
        self.read_all()
        mounting.wait_for(self.lines, "a line")
        for line in self.lines():
            self.assertRegex(line, self.LINE)
        self.assertTrue(any(f"recordfs[{daemon}]: warning: {self.source}: byte 83928: " in line for line in self.lines()))
        self.assertEqual(self.log.stat().st_mode & 0o777, 0o600)

    def test_log_has_what_was_found_while_sources_were_opened(self):
        first = self.folder / "x-00000-of-00003.riegeli"
        shutil.copy(mounting.sample(SAMPLE), first)
        done = self.recordfs("--join", "-v", self.folder / "x@3.riegeli", self.point, "-o", f"log={self.log}")
        missing = "x-?????-of-00003.riegeli: shards 00001-00002 (2) are missing"
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn(missing, done.stderr)
        for words in (f"warning: .*{re.escape(missing)}", f"{re.escape(str(first))}: riegeli, "):
            self.assertTrue(any(re.search(words, line) for line in self.lines()), (words, self.lines()))

    def test_lines_are_appended_even_after_a_truncation(self):
        self.log.write_text("before\n", encoding="utf-8")
        self.start("-o", f"log={self.log}")
        self.read_all()
        mounting.wait_for(lambda: len(self.lines()) > 1, "a line")
        self.assertEqual(self.lines()[0], "before")
        os.truncate(self.log, 0)
        for daemon in mounting.daemons(self.point):
            os.kill(daemon, signal.SIGUSR1)
        mounting.wait_for(self.lines, "the statistics")
        self.assertRegex(self.lines()[0], self.LINE)

    def test_relative_name_starts_at_the_current_directory(self):
        self.start("-o", "log=daemon.log", cwd=self.folder)
        self.read_all()
        mounting.wait_for(self.lines, "a line")

    def test_log_file_that_cannot_be_opened_is_refused(self):
        os.mkfifo(self.folder / "fifo")
        for path, reason in ((self.folder / "no/daemon.log", "No such file or directory"), (self.folder, "Is a directory"),
                             (self.folder / "fifo", "No such device or address")):
            done = self.recordfs(self.source, self.point, "-o", f"log={path}")
            self.assertEqual((done.returncode, done.stderr), (1, f"recordfs: -o log={path}: {reason}\n"))
        self.assertNotIn(str(self.point), mounting.mounts())

    def refused(self, path):
        done = self.recordfs(self.source, self.point, "-o", f"log={path}")
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_log_file_that_another_user_may_have_chosen_is_refused(self):
        self.log.write_text("before", encoding="utf-8")
        (self.folder / "link").symlink_to(self.log)
        self.assertEqual(self.refused(self.folder / "link"), f"recordfs: -o log={self.folder}/link: a symbolic link\n")
        os.link(self.log, self.folder / "name")
        self.assertEqual(self.refused(self.log), f"recordfs: -o log={self.log}: the file has several names\n")
        if mounting.is_root():
            (self.folder / "name").unlink()
            os.chown(self.log, mounting.NOBODY, mounting.NOBODY)
            self.assertEqual(self.refused(self.log), f"recordfs: -o log={self.log}: the file belongs to another user\n")
        self.assertEqual(self.log.read_text(encoding="utf-8"), "before")

    @mounting.only_root
    def test_missing_system_log_is_warned_about_at_the_start(self):
        mounting.remove_system_log(self)
        for words, warning in (((), mounting.NO_SYSTEM_LOG), (("-q",), ""), (("-o", f"log={self.log}"), "")):
            with self.subTest(words=words):
                done = self.recordfs(self.source, self.point, *words)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", warning))
                self.assertEqual(mounting.run("fusermount3", "-u", self.point).returncode, 0)


class LifeCycle(mounting.Case):
    """The log says when and why a mount begins and ends."""

    def setUp(self):
        super().setUp()
        self.source = mounting.with_bit_flipped(self.copy(SAMPLE), 84003)
        self.work = self.folder / "work"
        self.work.mkdir()
        self.work.chmod(0o777)
        self.log = self.work / "daemon.log"
        self.point = self.new_point()

    def start(self, *words, user=None):
        done = self.recordfs(self.source, self.point, "-o", f"log={self.log}", *words, user=user)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return mounting.daemons(self.point)[0]

    def wait_for_line(self, pattern, log=None):
        log = log or self.log
        mounting.wait_for(lambda: log.exists() and re.search(pattern, log.read_text(encoding="utf-8"), re.MULTILINE),
                          f"a line with {pattern}")

    def test_mount_and_each_reason_of_its_end_are_logged(self):
        def send(number):
            return lambda daemon: os.kill(daemon, number)
        for words, end, why in (((), lambda _: mounting.run("fusermount3", "-u", self.point), "by umount or fusermount3"),
                                ((), send(signal.SIGTERM), "SIGTERM"), ((), send(signal.SIGINT), "SIGINT"),
                                (("-o", "timeout=1"), lambda _: None, "no request for 1 second")):
            with self.subTest(why=why):
                self.log.unlink(missing_ok=True)
                daemon = self.start(*words)
                size = self.source.stat().st_size
                self.wait_for_line(rf" info: {self.source}: opened: riegeli, {size} bytes$")
                self.wait_for_line(rf" info: {self.source}: mounted on {self.point} \(recordfs [0-9.]+\)$")
                end(daemon)
                self.wait_for_line(rf" info: {self.point}: unmounted: {why}$")
                mounting.wait_for(lambda: not mounting.processes(self.point), "the end")

    def test_redacted_log_names_neither_source_nor_mount_point(self):
        self.start("-o", "redact")
        self.wait_for_line(r"source 1: mounted on mount point \(")
        self.assertEqual(mounting.run("fusermount3", "-u", self.point).returncode, 0)
        self.wait_for_line("mount point: unmounted: ")
        self.assertNotIn(str(self.folder), self.log.read_text(encoding="utf-8"))

    def test_foreground_says_so_on_stderr_only_with_verbose(self):
        mounted = self.mount(self.source, flags=["-f", "-v"], point=self.point)
        mounted.wait_for_log("mounted on")
        self.assertEqual(mounted.unmount(), 0)
        mounted.wait_for_log(f"{self.point}: unmounted: by umount")
        mounted = self.mount(self.source, point=self.point)
        self.assertEqual((mounted.unmount(), mounted.log()), (0, ""))

    def test_journal_gets_the_mount_and_its_end(self):
        usual = self.environment
        self.environment = lambda user: dict(usual(user), JOURNAL_STREAM="8:1")
        mounted = self.mount(self.source, point=self.point)
        mounted.wait_for_log("mounted on")
        self.assertEqual(mounted.unmount(), 0)
        mounted.wait_for_log(f"{self.point}: unmounted: by umount")

    def test_replaced_source_is_logged_once(self):
        records = [bytes([65 + number]) * 300000 for number in range(4)]
        source, other = self.folder / "records.tfrecord", self.folder / "other"
        for path in (source, other):
            path.write_bytes(tfrecord(records))
        mounted = self.mount(source)
        os.replace(other, source)
        for number, record in enumerate(records):
            self.assertEqual((mounted / f"records/{number}").read_bytes(), record)
        self.assertEqual(mounted.log().count("the file was removed or replaced after it was opened"), 1)

    def test_sighup_opens_the_log_again(self):
        for user in (None, mounting.NOBODY) if mounting.is_root() else (None,):
            with self.subTest(user=user):
                self.point = self.new_point(user)
                self.log = self.work / f"daemon-{user}.log"
                daemon = self.start(user=user)
                self.wait_for_line("mounted on")
                old = self.log.rename(self.work / f"daemon-{user}.log.1")
                os.kill(daemon, signal.SIGHUP)
                self.wait_for_line(" info: the log file was opened again$")
                before = old.read_text(encoding="utf-8")
                done = mounting.run("sh", "-c", f"cat {self.point}/records/*", user=user)
                self.assertNotEqual(done.returncode, 0)
                self.wait_for_line(" warning: .*byte 83928: ")
                self.assertEqual(old.read_text(encoding="utf-8"), before)
                self.assertEqual(self.log.stat().st_mode & 0o777, 0o600)
                self.assertEqual(mounting.run("fusermount3", "-u", self.point, user=user).returncode, 0)
                self.wait_for_line(": unmounted: ")

    def test_log_that_cannot_be_opened_again_stays(self):
        daemon = self.start()
        self.wait_for_line("mounted on")
        old = self.log.rename(self.work / "old.log")
        self.log.mkdir()
        os.kill(daemon, signal.SIGHUP)
        self.wait_for_line("warning: the log file cannot be opened again, so messages still go to the old one", old)

    def test_sighup_does_not_end_a_mount_in_the_background(self):
        self.assertEqual(self.recordfs(mounting.sample(SAMPLE), self.point).returncode, 0)
        daemon = mounting.daemons(self.point)[0]
        os.kill(daemon, signal.SIGHUP)
        os.kill(daemon, signal.SIGHUP)
        self.assertEqual(len(os.listdir(self.point / "records")), RECORDS)
        self.assertEqual(mounting.daemons(self.point), [daemon])


class Statistics(mounting.Case):
    def wait_for_statistics(self, mounted, pattern):
        mounted.send(signal.SIGUSR1)
        return mounted.wait_for_log(pattern)

    def test_statistics_report_requests_caches_bytes_and_progress(self):
        mounted = self.mount(mounting.sample(SAMPLE))
        self.assertIn("0 chunks, 0 records, not complete", self.wait_for_statistics(mounted, "not complete"))
        for name in os.listdir(mounted / "records"):
            (mounted / "records" / name).read_bytes()
        line = self.wait_for_statistics(mounted, rf"{RECORDS} records, complete")
        self.assertTrue(line.startswith(f"recordfs: {mounting.sample(SAMPLE)}: "), line)
        log = mounted.log()
        self.assertRegex(log, r"(?m)^recordfs: memory: \d+ bytes in use, \d+ kept for reuse$")
        requests = dict(word.split(" ") for word in re.findall(r"requests: (.*)", log)[-1].split(", "))
        self.assertGreater(int(requests["readdirplus"]) + int(requests.get("readdir", "0")), 0)
        self.assertEqual(int(requests["open"]), 1, "the kernel must not send a second OPEN")
        pushed = int(re.findall(r"pushed into the kernel's cache: (\d+) records", log)[-1])
        self.assertGreater(int(requests["read"]) + pushed, 0)
        hits, misses = map(int, re.findall(r"cache of chunks: (\d+) hits, (\d+) misses", log)[-1])
        self.assertGreater(hits, 0)
        self.assertGreater(misses, 0)
        read, decoded = map(int, re.findall(r"read: (\d+) bytes; decoded: (\d+) bytes", log)[-1])
        self.assertGreater(read, 0)
        self.assertGreaterEqual(decoded, (mounted / "streams/concat").stat().st_size)
        self.assertEqual(mounted.unmount(), 0)

    def test_sigusr1_while_sources_are_opened_is_answered_afterwards(self):
        (self.folder / "backing").mkdir()
        self.copy(SAMPLE, "backing/slow.riegeli")
        source = slow.FileSystem(self)
        source.hold_reads_beyond(0)
        point, log = self.new_point(), self.folder / "log"
        with log.open("wb") as out, mounting.started(mounting.program("recordfs"), "-f", source / "slow.riegeli", point,
                                                     stdout=out, stderr=out, env=self.environment()) as running:
            # SIGUSR1 is blocked while the program waits for the source.
            mounting.wait_for(lambda: self.blocks_usr1(running.pid) and mounting.open_files(running.pid, source.point), "the open source")
            running.send_signal(signal.SIGUSR1)
            source.open_gate()
            mounting.wait_for(lambda: "requests: " in log.read_text(encoding="utf-8"), "the statistics")
            running.send_signal(signal.SIGTERM)
            self.assertEqual(running.wait(mounting.PATIENCE), 0)

    @staticmethod
    def blocks_usr1(pid):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        blocked = re.search(r"^SigBlk:\s*([0-9a-f]+)$", status, re.MULTILINE)
        return int(blocked.group(1), 16) >> (signal.SIGUSR1 - 1) & 1

    @mounting.only_root
    def test_background_daemon_writes_statistics_to_the_system_log(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as system_log:
            mounting.remove_system_log(self)
            system_log.bind("/dev/log")
            system_log.settimeout(mounting.PATIENCE)
            point = self.new_point()
            self.assertEqual(self.recordfs(mounting.sample(SAMPLE), point).returncode, 0)
            for daemon in mounting.daemons(point):
                os.kill(daemon, signal.SIGUSR1)
            lines = iter(lambda: system_log.recv(65536).decode(), "")
            self.assertRegex(next(lines), r"^<30>.* recordfs\[\d+\]: .*: opened: riegeli")
            self.assertRegex(next(lines), r"^<30>.* recordfs\[\d+\]: .*: mounted on ")
            self.assertRegex(next(lines), r"^<29>.* recordfs\[\d+\]: requests: ")


if __name__ == "__main__":
    mounting.main()
