#!/usr/bin/env python3
"""The recipes for engines read each record once, also if tasks fail."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support

DAMAGED = "riegeli/dmg_flip_header.riegeli"
GOOD = ["riegeli/multiblock_zstd.riegeli", "recordio/v2-zstd-1.grail-rio"]


class Recipe(unittest.TestCase):
    """A folder with a data set, and the built program in PATH."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="recordfs-engines-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = dict(os.environ, PATH=f"{support.place.build}:{os.environ['PATH']}",
                                XDG_CACHE_HOME=str(self.folder / "caches"), OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        names = [name for name in (*GOOD, DAMAGED) if support.sample(name).is_file()]
        self.files = [self.folder / f"two words {i}" for i in range(len(names))]
        for path, name in zip(self.files, names):
            shutil.copyfile(support.sample(name), path)
        self.out = self.folder / "out"

    def run_recipe(self, *words):
        return support.run(*words, env=self.environment, cwd=self.folder)

    def whole(self, *options):
        return subprocess.run([support.place.build / "recordfs", "cat", "--skip-damage", *options, *self.files],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout

    def parts(self, count):
        return b"".join((self.out / f"part-{i}-of-{count}").read_bytes() for i in range(count))

    def skipped(self, count):
        return [json.loads(line) for i in range(count)
                for line in (self.out / f"part-{i}-of-{count}.skipped").read_text(encoding="utf-8").splitlines()]

    def assert_complete(self, count):
        self.assertEqual(self.parts(count), self.whole("--delimited"))
        self.assertEqual({row["file"] for row in self.skipped(count)}, {str(self.files[-1])})
        self.assertEqual(len(self.skipped(count)), 1)
        extra = {path.name for path in self.out.iterdir()} - {"joblog"}
        self.assertEqual(len(extra), 2 * count, "no temporary file remains")


class Task(Recipe):
    def task(self, split, command):
        self.out.mkdir(exist_ok=True)
        return self.run_recipe(support.ENGINES / "task.sh", split, self.out, command, "--delimited", *self.files)

    def test_failed_task_shows_nothing(self):
        self.assertEqual(self.task("0/1", "head -c 10; exit 9").returncode, 9)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_status_of_recordfs_is_the_status_of_the_task(self):
        self.assertEqual(self.task("5:x", "cat").returncode, 1)
        self.assertEqual(self.task("0/1@0000000000000000", "cat").returncode, 5)

    def test_repeated_task_replaces_its_output(self):
        for _ in range(2):
            done = self.task("0/1", "cat")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assert_complete(1)


class Pods(Recipe):
    """The manifests for Kubernetes."""

    def test_scripts_of_the_pods_are_there(self):
        manifests = [path.read_text(encoding="utf-8") for path in support.ENGINES.glob("kubernetes-*.yaml")]
        named = set(re.findall(r"/usr/share/recordfs/engines/([\w.]+)", "".join(manifests)))
        self.assertEqual(named, {"fuse_descriptor.py", "task.sh"})
        for name in named:
            self.assertTrue((support.ENGINES / name).is_file(), name)

    def test_arguments_of_the_job_read_each_record_once(self):
        manifest = (support.ENGINES / "kubernetes-job.yaml").read_text(encoding="utf-8")
        *arguments, data = re.search(r"args: \[(.*)\]", manifest)[1].split(", ")
        self.assertTrue(data.startswith("/data/"))
        self.out.mkdir()
        count = int(re.search(r"completions: (\d+)", manifest)[1])
        for index in range(count):
            words = [word.replace("$(JOB_COMPLETION_INDEX)", str(index)).replace("/out", str(self.out)) for word in arguments]
            done = self.run_recipe(support.ENGINES / "task.sh", *words, *self.files)
            self.assertEqual(done.returncode, 0, done.stdout)
        lines = sum(int(number) for number in self.parts(count).split())
        self.assertEqual(lines, self.whole("--lines").count(b"\n"))


class Shell(Recipe):
    @support.needs("parallel")
    def test_gnu_parallel_reads_each_record_once(self):
        done = self.run_recipe(support.ENGINES / "parallel.sh", "7", self.out, "cat", "--delimited", *self.files)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assert_complete(7)

    @support.needs("parallel")
    def test_gnu_parallel_retries_failed_tasks(self):
        marks = self.folder / "marks"
        marks.mkdir()
        self.environment["MARKS"] = str(marks)
        # Fails at the first attempt of each task.
        command = """cat >"$MARKS/$$"
            mark=$MARKS/$(sha256sum <"$MARKS/$$" | cut -c1-64)
            mkdir "$mark" && exit 1
            cat "$MARKS/$$"
        """
        done = self.run_recipe(support.ENGINES / "parallel.sh", "5", self.out, command, "--delimited", *self.files)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assert_complete(5)

    def test_xargs_reads_each_record_once(self):
        done = self.run_recipe(support.ENGINES / "xargs.sh", "7", self.out, "cat", "--delimited", *self.files)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assert_complete(7)

    def test_xargs_fails_if_a_task_fails(self):
        done = self.run_recipe(support.ENGINES / "xargs.sh", "3", self.out, "exit 1", "--delimited", *self.files)
        self.assertEqual(done.returncode, 123, done.stdout)


class Mpi(Recipe):
    # Debian's interpreter, for which mpi4py is packaged.
    PYTHON = "/usr/bin/python3"

    def setUp(self):
        super().setUp()
        if shutil.which("mpiexec") is None or subprocess.run(
                [self.PYTHON, "-c", "import mpi4py"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("mpiexec or mpi4py is not installed")

    def mpi(self, *files):
        return self.run_recipe("mpiexec", "--oversubscribe", "-n", "3", self.PYTHON, support.ENGINES / "mpi.py", *files)

    def test_ranks_read_each_record_once(self):
        files = self.files[:-1]
        size = len(subprocess.run([support.place.build / "recordfs", "cat", *files], stdout=subprocess.PIPE, check=True).stdout)
        listed = subprocess.run([support.place.build / "recordfs", "ls", *files], stdout=subprocess.PIPE, check=True).stdout
        count = listed.count(b"\n")
        done = self.mpi(*files)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(f"{count} records, {size} bytes\n", done.stdout)

    def test_damage_ends_all_ranks(self):
        done = self.mpi(*self.files)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("exit status 4", done.stdout)
        self.assertNotIn("records, ", done.stdout)


if __name__ == "__main__":
    support.main()
