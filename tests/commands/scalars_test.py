#!/usr/bin/env python3
"""Logs of training: their scalars as tables, directories of runs, and conditions on scalars."""
import csv
import io
import json
import os
import struct
from collections import Counter

import commands
from tfrecords import example, field, tfrecord

HEADER = ["run", "step", "wall_time", "tag", "value"]
REAL = "real/events.out.tfevents.1622543341.torch"


def fixed(number, form, value):
    return bytes([number << 3 | (1 if form == "<d" else 5)]) + struct.pack(form, value)


def value(tag, number):
    """Returns a value of a summary: a float, an int64, or the bytes of several."""
    if isinstance(number, float):
        return field(1, field(1, tag.encode()) + fixed(2, "<f", number))
    content = number if isinstance(number, bytes) else struct.pack("<q", number)
    shape = b"".join(field(2, field(1, size)) for size in ((len(content) // 8,) if len(content) > 8 else ()))
    return field(1, field(1, tag.encode()) + field(8, b"\x08\x09" + field(2, shape) + field(4, content)))


def events(*steps):
    """Returns an event file: with each step, one summary."""
    records = [fixed(1, "<d", 1.5) + field(3, b"brain.Event:2")]
    records += [fixed(1, "<d", 2.5) + bytes([0x10, step]) + field(5, b"".join(value(*one) for one in values))
                for step, values in enumerate(steps)]
    return tfrecord(records)


class Scalars(commands.Case):
    def setUp(self):
        super().setUp()
        self.logs = self.folder / "logs"
        for name, scale in (("b10/sub", 1.0), ("b9", 2.0)):
            (self.logs / name).mkdir(parents=True)
            steps = [[("loss", scale / (step + 1)), ("acc", float(step))] for step in range(4)]
            (self.logs / name / "events.out.tfevents.1.host").write_bytes(events(*steps))

    def lines(self, *words):
        text = self.good("export", *words, "-o", "-", "--to", "csv").decode()
        header, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        self.assertEqual(header, HEADER)
        return [[run, int(step), tag, float(number)] for run, step, _, tag, number in lines]

    def test_directory_of_runs_has_the_scalars_of_all(self):
        (self.logs / "b9" / "checkpoint.txt").write_bytes(b"text")
        os.symlink("b9", self.logs / "latest")
        expected = [[run, step, tag, number] for run, scale in (("b9", 2.0), ("b10/sub", 1.0)) for step in range(4)
                    for tag, number in (("loss", struct.unpack("<f", struct.pack("<f", scale / (step + 1)))[0]), ("acc", step))]
        self.assertEqual(self.lines(self.logs), expected)
        self.assertEqual([line[0] for line in self.lines(self.logs / "b9")], ["."] * 8)
        self.assertEqual(self.good("cat", self.logs), b"".join(self.good("cat", path) for path in
                         (self.logs / "b9" / "events.out.tfevents.1.host", self.logs / "b10/sub" / "events.out.tfevents.1.host")))

    def test_run_without_its_first_record_stops_no_other(self):
        whole = self.lines(self.logs)
        (self.logs / "a").mkdir()
        empty = self.logs / "a" / "events.out.tfevents.0.host"
        empty.write_bytes(b"")
        self.assertEqual(self.lines(self.logs), whole)
        damaged = bytearray(events([("late", 7.0)]))
        damaged[12] ^= 1
        empty.write_bytes(damaged)
        exported = self.recordfs("export", "--skip-damage", self.logs, "-o", "-", "--to", "csv")
        self.assertEqual(exported.status, commands.DAMAGE)
        self.assertEqual([line.split(",")[0] for line in exported.out.decode().splitlines()], ["run", "a"] + [one[0] for one in whole])

    def test_event_file_without_its_version_has_scalars(self):
        whole = (commands.corpus() / "tfrecord" / REAL).read_bytes()
        first = 16 + int.from_bytes(whole[:8], "little")
        cut = self.folder / "cut"
        cut.write_bytes(whole[first:])
        self.assertEqual(self.lines(cut), [[str(self.folder), *line[1:]] for line in self.lines(commands.corpus() / "tfrecord" / REAL)])
        damaged = self.folder / "damaged"
        damaged.write_bytes(whole)
        commands.with_bit_flipped(damaged, 14)
        self.assertEqual(self.recordfs("recover", damaged, "-o", self.folder / "good").status, commands.DAMAGE)
        self.assertEqual(self.lines(self.folder / "good"), self.lines(cut))

    def test_no_other_records_are_taken_for_events(self):
        paths = [path for path in commands.containers() if "tfrecord" in path.parts]
        self.assertGreater(len(paths), 50)
        kinds = {path.name for path in paths if b'"type":"tensorflow.Event"' in self.recordfs("cat", "--json", "--skip-damage", path, ":1").out}
        self.assertEqual(kinds, {path.name for path in paths if "tfevents" in path.name})

    def test_directories_of_wandb_and_swanlab_are_read(self):
        for name, sample in (("run-20260101-aaa/run-aaa.wandb", "run-g9dvvkua.wandb"), ("run-2/run-x.swanlab", "swanlab-2.swanlab")):
            path = self.folder / "wandb" / name
            path.parent.mkdir(parents=True)
            path.write_bytes((commands.corpus() / "wandb" / sample).read_bytes())
        os.symlink("run-20260101-aaa", self.folder / "wandb" / "latest-run")
        lines = self.lines(self.folder / "wandb")
        self.assertEqual([lines[0], lines[1], lines[-1]], [["x", 0, "loss", 1], ["x", 1, "loss", 0.5], ["aaa", 999, "loss", 0.001]])
        self.assertEqual(len(lines), 1400)
        line = json.loads(self.good("cat", "--json", commands.corpus() / "wandb" / "swanlab-2.swanlab", "1"))
        self.assertEqual(line["decoded"]["scalar"], {"key": "loss", "type": "COLUMN_TYPE_SCALAR",
                         "timestamp": "2026-05-28T20:26:40.500Z", "value": {"number": 1}})

    def test_files_that_pytorch_and_wandb_wrote(self):
        lines = self.lines(commands.corpus() / "tfrecord" / REAL)
        self.assertEqual((len(lines), lines[0][1:], lines[-1][1:3]), (100, [0, "strict/foo", 1.4962565898895264], [495, "strict/foo"]))
        path = commands.corpus() / "wandb" / "real" / "offline-2021.wandb"
        kinds = [list(json.loads(line)["decoded"].keys() - {"num", "control", "uuid"}) for line in self.good("cat", "--json", path).splitlines()]
        self.assertEqual(kinds, [["header"], ["run"], ["files"], ["artifact"], ["telemetry"], ["exit"], ["stats"], ["summary"], ["final"], ["footer"]])

    def test_condition_on_scalars(self):
        self.assertEqual(self.lines("--where", "tag ~ '^loss' and value > 0.9", self.logs), [["b9", 0, "loss", 2], ["b9", 1, "loss", 1], ["b10/sub", 0, "loss", 1]])
        self.assertEqual(self.lines("--where", "run = 'b9' and step = 3 and tag in ('acc')", self.logs), [["b9", 3, "acc", 3]])
        self.assertEqual([line[1] for line in self.lines("--where", "step < 1", self.logs)], [0] * 4)
        ordinals = [int(line.split(b"\t")[0]) for line in self.good("ls", "--where", "tag = 'loss' and value = 0.5", self.logs).splitlines()]
        self.assertEqual(ordinals, [4, 7])
        head = [json.loads(line)["decoded"].get("step") for line in self.good("head", "--json", "--where", "tag = 'acc' and value >= 2", self.logs / "b9").splitlines()]
        self.assertEqual(head, ["2", "3"])
        done = self.recordfs("export", "--where", "tags = 'loss'", self.logs, "-o", self.folder / "a.csv")
        self.assertEqual(done.status, commands.PARTLY_DONE)

    def test_value_that_is_a_float_equals_its_shortest_decimal_number(self):
        path = self.folder / "float.tfevents"
        path.write_bytes(events([("a", 0.1)]))
        as_double = struct.unpack("<f", struct.pack("<f", 0.1))[0]
        for condition, lines in (("value = 0.1", 1), (f"value = {as_double!r}", 1), ("value in (1, 0.1)", 1), ("value > 0.1", 0),
                                 ("value <= 0.1", 1), ("value != 0.1", 0), ("value = 0.10000000000000001", 1), ("value = 0.1000000001", 0)):
            self.assertEqual(self.lines("--where", condition, path), [[str(self.folder), 0, "a", as_double]] * lines, condition)

    def test_run_without_records_has_the_columns_of_scalars(self):
        for name in ("events.out.tfevents.1.host", "run-x.wandb", "run-x.swanlab"):
            path = self.folder / name
            path.write_bytes(b"")
            self.assertEqual(self.lines(path), [], name)
        for name in ("no-records.wandb", "empty.wandb"):
            self.assertEqual(self.lines(commands.corpus() / "wandb" / name), [], name)
        path = self.folder / "examples.tfevents"
        path.write_bytes(tfrecord([example({"a": [1]})]))
        self.assertEqual(self.good("export", path, "-o", "-", "--to", "csv"), b"a\r\n1\r\n")

    def test_columns_are_those_of_tables(self):
        for words in ([], ["--where", "tag = 'loss'"], ["--sample", "100"]):
            lines = self.lines(self.logs, *words)
            rows = {row["name"]: row for row in json.loads(self.good("info", "--json", "--columns", self.logs, *words))["columns"]}
            self.assertEqual({name: row["type"] for name, row in rows.items()},
                             {"run": "str", "step": "int64", "wall_time": "float64", "tag": "str", "value": "float64"})
            for place, name in enumerate(("run", "step", "tag", "value")):
                self.assertEqual({one["value"]: one["count"] for one in rows[name]["counts"]}, Counter(line[place] for line in lines), words)
        self.assertIn(b"<title>loss: 8</title>", self.good("report", self.logs))

    def test_tags_are_counted(self):
        wanted = [{"part": tag, "records": 8, "entries": 8, "first_step": 0, "last_step": 3} for tag in ("acc", "loss")]
        self.assertEqual(json.loads(self.good("info", "--json", "--tags", self.logs))["parts"], wanted)
        self.assertRegex(self.good("info", "--tags", commands.corpus() / "tfrecord" / REAL).decode(), r"\n +100 +100  strict/foo +steps 0 to 495\n")

    def test_scalar_that_is_not_exact_is_left_out_alone(self):
        path = self.folder / "inexact.tfevents"
        path.write_bytes(events([("a", 2**53 + 1), ("b", 1.0)], [("a", 3)]))
        out = self.folder / "a.csv"
        done = self.recordfs("export", path, "-o", out)
        self.assertEqual((done.status, out.exists()), (commands.PARTLY_DONE, False))
        self.assert_ends(commands.PARTLY_DONE, r"double\nrecordfs: standard output: not complete \(try: --skip-damage\)", "export", path,
                         "--to", "csv", "-o", "-")
        done = self.recordfs("export", "--skip-damage", path, "-o", out)
        self.assertEqual(done.status, commands.PARTLY_DONE)
        self.assertIn("record 1: a value of a is not exactly a double", done.err)
        self.assertTrue(done.err.endswith("a.csv: 2 rows written; 1 scalar omitted\n"), done.err)
        self.assertEqual([line.split(",")[3:] for line in out.read_text().splitlines()[1:]], [["b", "1"], ["a", "3"]])
        for option in ("--tags", "--columns"):
            self.assertEqual(self.recordfs("info", option, path).status, commands.PARTLY_DONE)
        self.assertIn(b"\n2 scalars with columns\n", self.recordfs("info", "--columns", path).out)

    def test_condition_needs_only_the_values_that_it_depends_on(self):
        path = self.folder / "odd.tfevents"
        path.write_bytes(events([("a", 2**53 + 1), ("b", 1.0)], [("a", 3), ("c", b"123")]))
        for condition, ordinals in (("tag = 'b'", [1]), (f"tag = 'a' and value = {2**53 + 1}", [1]), (f"value > {2**53} and tag = 'a'", [1]), (f"tag != 'c' and value = {2**53}", []),
                                    ("tag = 'c'", [2]), ("tag = 'a' and step = 1 and value < 4", [2])):
            self.assertEqual([int(line.split(b"\t")[0]) for line in self.good("ls", "--where", condition, path).splitlines()], ordinals, condition)
        self.assertEqual([line[2:] for line in self.lines("--where", "tag = 'b' or value = 3", path, ":2")], [["b", 1]])
        out = self.folder / "a.csv"
        for condition, rows, message in (("tag = 'a'", ["a,3"], "record 1: a value of a is not exactly a double"), ("value < 4", ["b,1", "a,3"], "1 record cannot be decoded")):
            for words, lines in (([], None), (["--skip-damage"], rows)):
                done = self.recordfs("export", "-f", "--where", condition, path, "-o", out, *words)
                self.assertEqual(done.status, commands.PARTLY_DONE)
                self.assertIn(message, done.err)
                self.assertEqual([line.split(",", 3)[3] for line in out.read_text().splitlines()[1:]] if out.exists() else None, lines)
            out.unlink()

    def test_values_of_several_numbers_are_counted(self):
        path = self.folder / "several.tfevents"
        path.write_bytes(events([("a", 1), ("two", struct.pack("<qq", 1, 2))], [("two", struct.pack("<qq", 1, 2))]))
        for words, message in (([], "2 values without a row"), (["--where", "tag = 'two' and step = 1"], "1 value without a row"), (["--where", "tag = 'a'"], "")):
            done = self.recordfs("export", path, "-o", "-", "--to", "csv", *words)
            self.assertEqual(done.status, commands.GOOD)
            self.assertIn(message, done.err)
            self.assertEqual(bool(done.err), bool(message))

    def test_step_and_time_are_those_of_scalars_where_records_have_none(self):
        for name in ("run-g9dvvkua.wandb", "swanlab-2.swanlab"):
            path = commands.corpus() / "wandb" / name
            lines = self.lines(path)
            last = max(line[1] for line in lines)
            self.assertEqual(self.lines(path, "--where", f"step >= {last}"), [line for line in lines if line[1] == last])
            selected = len(self.good("ls", path, "--where", "step is not null and (wall_time > 0 or wall_time is null)").splitlines())
            self.assertEqual(selected, len({line[1] for line in lines}) if name.endswith(".wandb") else len(lines))
            self.assertEqual(self.recordfs("grep", "--ordinals", "--field", "step", f"^{last}$", path).status, commands.GOOD)

    def test_step_and_time_in_a_set_are_those_of_each_file(self):
        for name in ("run-g9dvvkua.wandb", "swanlab-2.swanlab"):
            (self.logs / name).write_bytes((commands.corpus() / "wandb" / name).read_bytes())
        whole = self.lines(self.logs)
        for condition, selected in (("step > 2", [line for line in whole if line[1] > 2]), ("wall_time = 2.5", [line for line in whole if line[0][0] == "b"])):
            self.assertEqual(self.lines(self.logs, "--where", condition), selected)
            paths = [path for path in sorted(self.logs.rglob("*")) if path.is_file()]
            self.assertEqual(len(self.good("ls", self.logs, "--where", condition).splitlines()),
                             sum(len(self.recordfs("ls", path, "--where", condition).out.splitlines()) for path in paths))
        self.assertGreater(len(self.good("grep", "--ordinals", "--field", "step", "^3$", self.logs).splitlines()), 2)

    def test_text_of_an_old_run_among_others_is_refused(self):
        (self.logs / "run-1.swanlab").write_bytes((commands.corpus() / "wandb" / "swanlab-1.swanlab").read_bytes())
        for words, message in (([], "record 0: "), (["--where", "step = 2 and tag = 'loss'"], "--where: [0-9]+ records cannot be decoded.*")):
            done = self.recordfs("export", self.logs, "-o", self.folder / "a.csv", *words)
            self.assertEqual((done.status, (self.folder / "a.csv").exists()), (commands.PARTLY_DONE, False))
            self.assertRegex(done.err, message + "a JSON text of SwanLab before 0.8.0, which has no rows of scalars")
        self.assert_ends(commands.PARTLY_DONE, "some files have scalars, and others rows of their own", "info", "--columns", self.logs)
        self.assert_ends(commands.PARTLY_DONE, "run-1.swanlab: no scalars, so no tags", "info", "--tags", self.logs)
        self.good("export", self.logs / "run-1.swanlab", "-o", self.folder / "a.csv")


if __name__ == "__main__":
    commands.main()
