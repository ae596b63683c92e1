#!/usr/bin/env python3
"""less, ripgrep, file managers, desktops and autofs show containers, configured as the man page says."""
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path

import support
import tfrecords

SAMPLE = "riegeli/small/shop_log.riegeli"
DAMAGED = "riegeli/dmg_flip_header.riegeli"


class Shells(unittest.TestCase):
    """Installs the files below a temporary prefix, and makes a home for the programs under test."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = Path(folder.name)
        subprocess.run(["cmake", "--install", support.place.build, "--prefix", cls.prefix],
                       stdout=subprocess.DEVNULL, check=True)
        cls.preview = cls.prefix / "libexec/recordfs/preview"
        cls.program = cls.prefix / "bin/recordfs"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        self.data = self.home / "data"
        self.data.mkdir()
        (self.home / "CONFIG").mkdir()
        self.sample = Path(shutil.copy(support.sample(SAMPLE), self.data))
        self.environment = dict(os.environ, HOME=str(self.home), PWD=str(self.data),
                                TERM="xterm", PAGER="less", SHELL="/bin/sh",
                                **{f"XDG_{name}_HOME": str(self.home / name) for name in ("CONFIG", "DATA", "CACHE")})

    def manual(self, program):
        """Returns the configuration of a program that the man page shows, for the files in the temporary prefix."""
        page = support.generated("recordfs.1").read_text(encoding="utf-8").split(".Sh SHELLS AND DESKTOPS\n")[1]
        item = re.split(r"(?m)^\.It ", page.split(f".It Xr {program} 1\n")[1])[0]
        shown = re.search(r"(?ms)^\.Bd [^\n]*\n(.*?)\n\.Ed", item).group(1)
        text = shown.replace(r"\(dq", '"')
        return re.sub(r"/[^\s'|]*/recordfs/(?=preview|rg-pre)", f"{self.prefix}/libexec/recordfs/", text)

    def run_shell(self, script, **changed):
        return subprocess.run(["sh", "-c", script], cwd=self.data, env=self.environment | changed, timeout=support.PATIENCE,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def recordfs(self, *words):
        return subprocess.run([self.program, *words], env=self.environment, capture_output=True, check=False).stdout


class Preview(Shells):
    def show(self, *words):
        done = subprocess.run([self.preview, *words], cwd=self.data, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        self.assertEqual(done.stderr, b"")
        return done.returncode, done.stdout

    def test_information_is_followed_by_all_records(self):
        records = self.recordfs("cat", "--lines", self.sample)
        self.assertEqual(self.show(self.sample), (0, self.recordfs("info", self.sample) + b"\n" + records))

    def test_first_records_are_shown(self):
        status, shown = self.show("-n", "2", self.sample.name)
        self.assertEqual((status, shown.split(b"\n\n")[1]),
                         (0, b"--- first 2 records\n" + self.recordfs("head", "-n", "2", "--lines", self.sample)))

    def test_decoded_records_and_bytes_are_json(self):
        for name, options in (("tfrecord/examples.tfrecord", ["--no-raw"]), ("bloscpack/v1-2.blp", [])):
            sample = support.sample(name)
            self.assertTrue(self.show(sample)[1].endswith(self.recordfs("cat", "--json", *options, sample)), name)

    def test_damage_follows_all_good_records(self):
        sample = support.sample(DAMAGED)
        records = self.recordfs("cat", "--json", "--skip-damage", sample)
        status, shown = self.show(sample)
        self.assertEqual(status, 0)
        self.assertIn(records + b"\n--- messages\nrecordfs: ", shown)
        self.assertTrue(shown.endswith(b"bytes 83928 to 90964: damage: the hash of a chunk header does not match; "
                                       b"records may be lost\n"), shown[-200:])

    def test_records_cannot_control_the_terminal(self):
        path = self.data / "escape.tfrecord"
        path.write_bytes(tfrecords.tfrecord(["a\x1b[2J\tb\x9bé".encode(), b"c\x07"]))
        self.assertTrue(self.show(path)[1].endswith("\na?[2J\tb?é\nc?\n".encode()))

    def test_large_records_are_not_missing_silently(self):
        path = self.data / "large.tfrecord"
        path.write_bytes(tfrecords.tfrecord([b"x" * 1_000_000] * 6))
        self.assertRegex(self.show("-n", "6", path)[1].decode(),
                         r"\n(x{1000} \.\.\.\n){4}[^x]*\.\.\. \(further records are not")

    def test_other_files_are_left_to_the_caller(self):
        (self.data / "text").write_text("text\n", encoding="utf-8")
        (self.data / "empty").touch()
        os.mkfifo(self.data / "pipe")
        for word in ("text", "empty", "pipe", "missing", ".", "-", "--help", ""):
            self.assertEqual(self.show(word), (1, b""), word)


@support.needs("less")
class Less(Shells):
    def test_less_shows_containers_and_other_files(self):
        (self.data / "text").write_text("text\n", encoding="utf-8")
        opener = self.manual("less")
        self.assertEqual(self.run_shell(f"{opener}; less {self.sample.name}").stdout.splitlines()[-1],
                         self.recordfs("tail", "-n", "1", self.sample))
        self.assertEqual(self.run_shell(f"{opener}; less text").stdout, b"text\n")


@support.needs("rg")
class Ripgrep(Shells):
    def search(self, *words, **changed):
        command = self.manual("rg").removesuffix("PATTERN").replace("--pre-glob '*.riegeli'", "")
        done = self.run_shell(" ".join([command, "-N", "--no-filename", *words]), **changed)
        return done.returncode, done.stdout, done.stderr.decode()

    def test_all_records_are_searched(self):
        expected = re.sub(rb"(?m)^\d+:", b"", self.recordfs("grep", "ERROR", self.sample))
        self.assertEqual(expected.count(b"\n"), 13)
        self.assertEqual(self.search("ERROR"), (0, expected, ""))
        self.assertEqual(self.search("-q", "GET"), (0, b"", ""))
        self.assertEqual(self.search("nothing.like.this"), (1, b"", ""))

    def test_search_goes_on_after_nul_bytes(self):
        (self.data / "nul.tfrecord").write_bytes(tfrecords.tfrecord([b"\0\0first", b"second"]))
        self.assertEqual(self.search("-c", "second", "nul.tfrecord"), (0, b"1\n", ""))

    def test_decoded_records_are_searched_on_request(self):
        sample = support.sample("tfrecord/examples.tfrecord")
        self.assertEqual(self.search("Infinity", sample.as_posix())[0], 1)
        self.assertEqual(self.search("-c", "Infinity", sample.as_posix(), RECORDFS_PRE="--json")[:2], (0, b"1\n"))

    def test_damage_is_an_error(self):
        sample = support.sample(DAMAGED)
        status, found, errors = self.search("-a", "buffer", sample.as_posix())
        good = self.recordfs("cat", "--lines", "--skip-damage", sample).replace(b"\0", b"\n")
        self.assertEqual((status, found.split(b"\n")[:-1]), (2, [line for line in good.split(b"\n") if b"buffer" in line]))
        self.assertIn("the hash of a chunk header does not match", errors)

    def test_missing_program_is_an_error(self):
        alone = shutil.copy(self.preview, self.home / "rg-pre")
        done = self.run_shell(f"rg --pre {alone} ERROR {self.sample}", PATH="/usr/bin:/bin")
        self.assertEqual((done.returncode, done.stdout), (2, b""))

    def test_other_files_are_searched_as_they_are(self):
        (self.data / "text").write_text("one\ntwo\n", encoding="utf-8")
        self.assertEqual(self.search("two", "text"), (0, b"two\n", ""))


class FileManagers(Shells):
    def wait_for_preview(self, command, keys=(), **changed):
        """Runs a program on a terminal. Presses a key each second until the third record of the sample is shown, and begins
        again after 5 seconds, because a program may drop keys while it starts."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.data)
            os.execvpe(command[0], command, self.environment | changed)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        shown, pressed, end, next_key = b"", 0, time.monotonic() + support.PATIENCE, time.monotonic() + 1
        try:
            while b"accepted:" not in shown and time.monotonic() < end:
                if select.select([terminal], [], [], 0.1)[0]:
                    try:
                        shown += os.read(terminal, 65536)
                    except OSError:
                        break  # the program has ended
                if keys and time.monotonic() > next_key:
                    os.write(terminal, keys[pressed % len(keys)])
                    pressed += 1
                    next_key = time.monotonic() + (1 if pressed % len(keys) else 5)
        finally:
            os.close(terminal)
            os.kill(child, 9)
            os.waitpid(child, 0)
        self.assertTrue(b"accepted:" in shown, shown[-500:].decode(errors="replace"))

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    @support.needs("ranger")
    def test_ranger_shows_records(self):
        self.write("CONFIG/ranger/scope.sh", "#!/bin/sh\n" + self.manual("ranger"))
        previews = [f"--cmd=set {option} true" for option in ("preview_files", "use_preview_script")]  # off for root
        self.wait_for_preview(["ranger", *previews])

    @support.needs("lf")
    def test_lf_shows_records(self):
        self.write("CONFIG/lf/lfrc", f"set previewer {self.write('previewer', '#!/bin/sh' + chr(10) + self.manual('lf'))}\n")
        self.wait_for_preview(["lf"])

    @support.needs("nnn")
    def test_nnn_shows_records(self):
        opener, plugin = (self.manual(program).split("=", 1)[1].strip("'") for program in ("less", "nnn"))
        self.wait_for_preview(["nnn"], [b";", b"r"], LESSOPEN=opener, NNN_PLUG=plugin)

    @support.needs("mc")
    def test_mc_shows_records(self):
        self.write("CONFIG/mc/mc.ext.ini", "[mc.ext.ini]\nVersion=4.0\n\n" + self.manual("mc"))
        self.wait_for_preview(["mc", "-u", "-a"], [b"\x1bOB", b"\x1bOR"])


class Desktop(Shells):
    ENTRY = "share/applications/recordfs.desktop"

    def entry(self):
        lines = (self.prefix / self.ENTRY).read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def test_all_types_are_opened_with_recordfs(self):
        types = re.findall(r'mime-type type="(.*?)"', support.installed("types/recordfs.xml").read_text(encoding="utf-8"))
        self.assertEqual(self.entry()["MimeType"].split(";"), [*types, ""])
        self.assertTrue(self.entry()["Exec"].endswith("/libexec/recordfs/open %f"))

    @support.needs("desktop-file-validate")
    def test_entry_is_valid(self):
        done = support.run("desktop-file-validate", self.prefix / self.ENTRY)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def unmount(self):
        for point in (self.home / "recordfs").glob("*"):
            if point.is_mount():
                subprocess.run(["fusermount3", "-u", "-z", point], check=True)

    def open(self, path, commands=('"$OPEN" "$FILE"', 'printf "%s\\n" "$1"; cat "$1/records/1"'), **changed):
        """Opens a file by the first command. The second is the file manager."""
        self.addCleanup(self.unmount)
        manager = self.home / "xdg-open"
        manager.write_text(f"#!/bin/sh\n{commands[1]}\n", encoding="utf-8")
        manager.chmod(0o755)
        return self.run_shell(commands[0], OPEN=str(self.prefix / "libexec/recordfs/open"), FILE=str(path),
                              PATH=f"{self.home}:{os.environ['PATH']}", XDG_RUNTIME_DIR=str(self.home), RECORDFS_IDLE="1", **changed)

    @unittest.skipUnless(os.access("/dev/fuse", os.W_OK), "no /dev/fuse")
    def test_file_is_mounted_once_and_unmounted_when_idle(self):
        special = self.data / "two words *.riegeli"
        self.sample.rename(special)
        shown = self.open(special).stdout.decode().split("\n")
        self.assertEqual(shown[1:], ["2026-03-14 09:00:03 INFO  web-2: GET /products/101 200 in 87 ms"])
        self.assertEqual(Path(shown[0]).parent, self.home / "recordfs")
        self.assertEqual(self.open(special).stdout.decode().split("\n"), shown)
        end = time.monotonic() + support.PATIENCE
        while Path(shown[0]).exists() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual([path.name for path in (self.home / "recordfs").iterdir()], [".lock"])

    @support.needs("gio")
    @support.needs("update-desktop-database")
    @support.needs("update-mime-database")
    @unittest.skipUnless(os.access("/dev/fuse", os.W_OK), "no /dev/fuse")
    def test_desktop_mounts_a_file_that_it_knows_by_its_bytes(self):
        for command, folder in (("update-mime-database", "mime"), ("update-desktop-database", "applications")):
            subprocess.run([command, self.prefix / "share" / folder], stderr=subprocess.DEVNULL, check=True)
        opened = self.home / "opened"
        self.sample.rename(self.data / "unnamed")
        self.open("unnamed", ['gio open "$FILE"', f'cat "$1/records/1" >{opened}.new && mv {opened}.new {opened}'],
                  XDG_DATA_DIRS=f"{self.prefix}/share:/usr/share")
        end = time.monotonic() + support.PATIENCE
        while not opened.exists() and time.monotonic() < end:
            time.sleep(0.1)
        self.assertIn(b"/products/101", opened.read_bytes())

    def test_reason_is_printed_if_a_file_cannot_be_mounted(self):
        (self.data / "text").touch()
        for path, reason in (("text", "empty file, not a record container"), ("missing", "No such file or directory")):
            done = self.open(path)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(reason, done.stderr.decode())


class Autofs(Shells):
    def test_map_prints_mounts_of_existing_files(self):
        folder = self.home / "map"
        text = (self.prefix / "share/recordfs/admin/auto.records").read_text(encoding="utf-8")
        folder.write_text(text.replace("folder=/data", f"folder={self.data}"), encoding="utf-8")
        shutil.copy(self.sample, self.data / "two words.riegeli")
        shutil.copy(self.sample, self.data / "a&b.riegeli")
        for key, printed in ((self.sample.name, f'-fstype=recordfs,allow_other ":{self.sample}"\n'),
                             ("two words.riegeli", f'-fstype=recordfs,allow_other ":{self.data}/two words.riegeli"\n'),
                             ("a&b.riegeli", ""), ("missing", ""), ("..", "")):
            done = support.run("bash", folder, key)
            self.assertEqual((done.returncode, done.stdout), (0 if printed else 1, printed))


if __name__ == "__main__":
    support.main()
