#!/usr/bin/env python3
"""Runs the recipes of the manual as a shell does, and compares their output.

    manual_test.py --bin FOLDER --root CHECKOUT     FOLDER holds the recordfs program

A recipe is a block of EXAMPLES in recordfs.1, or a line that the text shows (`.Dl`). Each needs an entry in RECIPES or in
NOT_RUN, so a new recipe without an expectation fails.
"""
import html
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import built
import replay
from tfrecords import tfrecord

LOG = "riegeli/small/shop_log.riegeli"  # 500 lines
SHARDS = 3

# {the recipe's first line: why it is not run}
NOT_RUN = {
    "recordfs head --json 's3://bucket/train-*.tfrecord'": "needs a bucket; see remote_commands",
    "recordfs s3://bucket/logs/ mnt": "needs a bucket; see remote_mirror",
    "recordfs index s3://bucket/train.tfrecord -o train.tfrecord.rfsindex": "needs a bucket; see remote_scan",
    "aws s3 cp train.tfrecord.rfsindex s3://bucket/": "needs a bucket",
    "recordfs grep --field user.name '^ada$' log.riegeli": "needs messages with such a field; see commands_grep",
    "recordfs cp --part image/encoded --name '{label}/{ordinal}.jpg' 'train-*' : pictures": "needs labels; see commands_cp",
    "systemctl enable --now recordfs@$(systemd-escape -p FILE)": "needs systemd as process 1; see install_admin",
}


def recipes(page):
    """Returns the text of each recipe as a page of mdoc(7) shows it."""
    shown = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", page], stdout=subprocess.PIPE, check=True).stdout.decode()
    blocks = re.findall(r"(?s)<pre>(.*?)</pre>", shown.split('id="EXAMPLES"', 1)[1])
    lines = [" ".join(line.split()) for line in re.findall(r'(?s)<div class="Bd Bd-indent"><code class="Li">(.*?)</code></div>', shown)]
    return [html.unescape(re.sub("<[^>]*>", "", text)).strip() for text in (*blocks, *lines)]


class Recipes(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="recordfs-test-")))
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(replay.unmount_all, str(self.folder))
        shutil.copy(built.sample(LOG), self.folder / "log.riegeli")
        self.lines = self.recordfs("cat", "--lines", "log.riegeli").splitlines()
        self.assertEqual(len(self.lines), 500)

    def recordfs(self, *words):
        return subprocess.run([built.program("recordfs"), *words], cwd=self.folder, stdout=subprocess.PIPE, check=True).stdout

    def write_shards(self):
        """Writes train-*, three files of an example with a picture. Returns the picture."""
        record = self.recordfs("cat", built.sample("tfrecord/examples.tfrecord"), "0")
        for number in range(SHARDS):
            name = f"train-{number:05}-of-{SHARDS:05}.tfrecord"
            (self.folder / name).write_bytes(tfrecord([record] * (number + 1)))
        (self.folder / "one").mkdir()
        self.recordfs("cp", "--part", "image/encoded", built.sample("tfrecord/examples.tfrecord"), "0", "one")
        return (self.folder / "one/000000000").read_bytes()

    def shell(self, recipe):
        """Runs a recipe in the folder. Returns what it printed; fails unless it succeeds without a message."""
        environment = dict(os.environ, PATH=f"{built.place.programs}:{os.environ['PATH']}", HOME=str(self.folder),
                           LC_ALL="C.UTF-8", XDG_CACHE_HOME=str(self.folder / "caches"))
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", recipe], cwd=self.folder, env=environment, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=built.PATIENCE)
        messages = [line for line in done.stderr.decode().splitlines() if "no system log" not in line]
        self.assertEqual((done.returncode, messages), (0, []), recipe)
        return done.stdout

    def needs(self, *tools):
        missing = [tool for tool in tools if shutil.which(tool) is None]
        if missing:
            self.skipTest(f"{missing[0]} is not installed")

    def needs_mounts(self):
        if reason := replay.why_not():
            self.skipTest(reason)

    def recipe(self, first_line):
        found = [text for text in self.all_recipes() if text.startswith(first_line)]
        self.assertEqual(len(found), 1, first_line)
        return found[0]

    def all_recipes(self):
        self.needs("mandoc")
        return recipes(built.place.checkout / "fusefs/install/man/recordfs.1.in")

    def test_every_recipe_is_run_here(self):
        run = re.findall(r'self\.recipe\("([^"]+)"\)', Path(__file__).read_text(encoding="utf-8"))
        for text in self.all_recipes():
            first = text.splitlines()[0]
            self.assertTrue(first in NOT_RUN or first.startswith(tuple(run)), first)

    def test_records_are_read_without_a_mount(self):
        self.needs("jq")
        shown = self.shell(self.recipe("recordfs info log.riegeli")).decode().splitlines()
        self.assertEqual([line.split() for line in shown[:2]], [["file", "log.riegeli"], ["format", "riegeli"]])
        head = [line.decode() for line in self.lines[:2]]
        sizes = [str(len(line)) for line in self.lines[:100]]
        found = sum(b"ERROR" in line for line in self.lines)
        self.assertEqual(shown[-103:], [*head, *sizes, str(found)])

    def test_records_that_grep_finds_are_read(self):
        found = self.shell(self.recipe("recordfs grep --ordinals ERROR"))
        self.assertEqual(found, b"".join(line for line in self.lines if b"ERROR" in line))

    def test_feature_is_searched_by_its_name(self):
        self.write_shards()
        found = self.shell(self.recipe("recordfs grep --field image/object/class/text")).splitlines()
        self.assertEqual(len(found), 6)
        self.assertIn(b'"cat"', found[0])

    def test_records_are_listed_that_meet_a_condition(self):
        self.write_shards()
        found = self.shell(self.recipe("recordfs ls --where 'image/width > 500")).splitlines()
        self.assertEqual([line.split(b"\t")[0] for line in found], [b"%d" % ordinal for ordinal in range(6)])

    def test_labels_are_counted(self):
        self.write_shards()
        found = self.shell(self.recipe("recordfs info --columns 'train-*'")).decode()
        self.assertRegex(found, r"(?m)^image/width +int64 +6 +0 +6 +- +- +1 +\d+ +\d+$")

    def test_record_is_copied_from_a_mount(self):
        self.needs_mounts()
        self.assertEqual(self.shell(self.recipe("mkdir mnt")), b"")
        self.assertEqual((self.folder / "42").read_bytes(), self.lines[42])
        self.assertEqual(os.listdir(self.folder / "mnt"), [])

    def test_words_are_counted_on_all_processors(self):
        self.needs("parallel")
        recipe = self.recipe("recordfs splits log.riegeli --size 64M")
        words = sum(len(line.split()) for line in self.lines)
        for text in (recipe, recipe.replace("64M", "1K")):  # one split, several
            self.assertEqual(self.shell(text), b"%d\n" % words)

    def test_data_set_is_compressed_in_64_tasks(self):
        self.needs("parallel", "zstd")
        self.write_shards()
        self.assertEqual(self.shell(self.recipe("seq 0 63 | parallel")), b"")
        parts = [self.shell(f"zstdcat {number}.zst") for number in range(64)]
        self.assertEqual(b"".join(parts), self.shell("recordfs cat --lines 'train-*'"))

    def test_changed_files_are_checked_every_night(self):
        (self.folder / "data").mkdir()
        shutil.copy(self.folder / "log.riegeli", self.folder / "data")
        recipe = self.recipe("recordfs verify -r --state ~/.verified").replace(" /data", f" {self.folder}/data")
        for _ in range(2):
            self.assertEqual(self.shell(recipe), b"")
        self.assertTrue((self.folder / ".verified").exists())

    def test_compressed_file_is_read_from_a_pipe(self):
        self.needs("zstd")
        self.shell("zstd -q log.riegeli")
        self.assertEqual(self.shell(self.recipe("zstdcat log.riegeli.zst")), self.recordfs("cat", "--json", "log.riegeli"))

    def test_pictures_are_copied(self):
        picture = self.write_shards()
        shutil.rmtree(self.folder / "one")
        (self.folder / "pictures").mkdir()
        self.assertEqual(self.shell(self.recipe("recordfs cp --part image/encoded --suffix .jpg")), b"")
        made = {path.name: path.read_bytes() for path in (self.folder / "pictures").iterdir()}
        self.assertEqual(made, {f"{number:09}.jpg": picture for number in range(6)})

    def test_damaged_file_is_recovered(self):
        data = bytearray(tfrecord(self.lines))
        data[20] ^= 1  # in the first record
        (self.folder / "damaged.tfrecord").write_bytes(data)
        recipe = self.recipe("recordfs recover damaged.tfrecord")
        self.assertEqual(self.shell(f"{recipe} 2>messages || test $? = 4"), b"")
        self.assertEqual((self.folder / "good.tfrecord").read_bytes(), tfrecord(self.lines[1:]))
        self.assertIn(b"499 records written; 1 lost", (self.folder / "messages").read_bytes())
        self.assertIn('"records_lost":1', (self.folder / "lost.jsonl").read_text(encoding="utf-8"))

    def test_intact_shards_are_linked(self):
        self.write_shards()
        self.assertEqual(self.shell(self.recipe("recordfs recover --link")), b"")
        linked = [path.stat().st_nlink for path in (self.folder / "recovered").iterdir()]
        self.assertEqual(linked, [2] * SHARDS)
        for name in ("a", "b"):
            (self.folder / "data" / name).mkdir(parents=True)
            for path in self.folder.glob("train-*"):
                shutil.copy(path, self.folder / "data" / name)
        self.assertEqual(self.shell(self.recipe("recordfs recover 'data/")), b"")
        self.assertEqual(len([*(self.folder / "recovered").glob("[ab]/train-*")]), 2 * SHARDS)

    def test_pictures_of_a_width_become_a_table(self):
        self.write_shards()
        self.assertEqual(self.shell(self.recipe("recordfs export --where 'image/width > 500' 'train-*'")), b"")
        self.assertTrue((self.folder / "wide.parquet").read_bytes().endswith(b"PAR1"))

    def test_columns_in_objects_become_a_table(self):
        records = [b'{"key": "a", "image": {"size": {"width": 3}}}', b'{"key": "b", "image": null}']
        (self.folder / "objects.tfrecord").write_bytes(tfrecord(records))
        self.assertEqual(self.shell(self.recipe("recordfs export --select key,image.size.width")), b"")
        self.assertEqual((self.folder / "sizes.csv").read_bytes(), b"key,image.size.width\r\na,3\r\nb,\r\n")

    def test_scalars_become_a_table(self):
        name = "events.out.tfevents.1700000000.host"
        (self.folder / "logs" / "train").mkdir(parents=True)
        (self.folder / "logs" / "train" / name).write_bytes((built.corpus() / "tfrecord" / name).read_bytes())
        self.assertEqual(self.shell(self.recipe("recordfs export logs")), b"")
        first = (self.folder / "scalars.csv").read_text(encoding="utf-8").splitlines()[:2]
        self.assertEqual(first[0], "run,step,wall_time,tag,value")
        self.assertTrue(first[1].startswith("train,0,"), first[1])

    def test_many_files_become_few(self):
        self.write_shards()
        self.assertEqual(self.shell(self.recipe("recordfs export 'train-*' --shards 2")), b"")
        self.assertEqual(self.recordfs("cat", "merged@2.tfrecord"), self.shell("recordfs cat 'train-*'"))

    def test_data_set_is_mounted_as_one(self):
        self.needs_mounts()
        self.write_shards()
        self.shell(self.recipe("recordfs mount --join 'train-*.tfrecord' mnt"))
        self.assertEqual(sorted(os.listdir(self.folder / "mnt/records")), [f"{number:09}" for number in range(6)])
        self.shell("recordfs umount mnt")  # waits for the daemon, which removes the mount point that it made


if __name__ == "__main__":
    built.main()
