#!/usr/bin/env python3
"""recordfs cat --json and similar options: decoded messages beside their bytes."""
import base64
import json
import os
import re
import shutil
import struct
import subprocess
import unittest

import commands
from built import is_thorough
from tfrecords import field as part
from tfrecords import tfrecord

MESSAGES = "riegeli/metadata_full_transposed.riegeli"  # 150 messages, with the type in the file's metadata
EXAMPLES = "tfrecord/examples.tfrecord"
TEXT = "riegeli/simple_zstd9.riegeli"
STRING, INT64, OPTIONAL = 9, 3, 1
DIGEST = re.compile(rb"[0-9a-f]{64}")
PROGRAM_FILES = ("recordfs", "librecordfs-protobuf.so")


def fixed64_field(number, value):
    return bytes([number << 3 | 1]) + struct.pack("<d", value)


def field(name, number, kind):
    return part(2, part(1, name) + part(3, number) + part(4, OPTIONAL) + part(5, kind))


def message_type(name, *fields):
    return part(4, part(1, name) + b"".join(fields))


def descriptor_set(*types, name="a.proto", package="pkg"):
    return part(1, part(1, name) + part(2, package) + b"".join(types))


class Decoded(commands.Case):
    def objects(self, *words):
        return [json.loads(line) for line in self.good(*words).decode("utf-8").splitlines()]

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path


class Lines(Decoded):
    """Which members the lines of --json have, and how bytes are written."""

    def test_raw_bytes_are_left_out(self):
        for name in (MESSAGES, EXAMPLES, TEXT):
            whole = self.objects("cat", "--json", commands.sample(name))
            short = self.objects("cat", "--json", "--no-raw", commands.sample(name))
            self.assertEqual(short, [{key: value for key, value in one.items() if key not in ("text", "base64")} for one in whole])

    def test_fields_are_picked_in_their_places(self):
        whole = self.objects("cat", "--json", "--no-raw", commands.sample(MESSAGES))
        picked = self.objects("cat", "--json", "--fields", "c,self.f64,rnested.name", commands.sample(MESSAGES))
        for one, all_of_it in zip(picked, whole, strict=True):
            decoded = {}
            for key, value in all_of_it["decoded"].items():
                if key == "c":
                    decoded[key] = value
                if key == "self" and "f64" in value:
                    decoded[key] = {"f64": value["f64"]}
                if key == "rnested":
                    named = [{"name": kid["name"]} for kid in value if "name" in kid]
                    decoded |= {key: named} if named else {}
            self.assertEqual(one, {**all_of_it, "decoded": decoded})

    def test_bytes_have_one_form(self):
        for form, name, decode in (("base64", "base64", base64.b64decode), ("hex", "hex", bytes.fromhex)):
            for sample in (TEXT, EXAMPLES):
                records = self.objects("cat", "--json", commands.sample(sample))
                for made, before in zip(self.objects("cat", "--json", "--bytes", form, commands.sample(sample)), records, strict=True):
                    self.assertEqual({"text", "base64", "hex"} & made.keys(), {name})
                    bytes_before = before["text"].encode() if "text" in before else base64.b64decode(before["base64"])
                    self.assertEqual(decode(made[name]), bytes_before)
        line = self.good("cat", "--json", "--bytes", "hex", "--fields", "features.feature.image/format", commands.sample(EXAMPLES), "0")
        self.assertEqual(json.loads(line)["decoded"]["features"]["feature"],
                         {"image/format": {"bytes_list": {"value": [{"hex": b"jpeg".hex()}]}}})
        self.assertEqual(self.good("cat", "--json", "--bytes", "auto", commands.sample(TEXT)),
                         self.good("cat", "--json", commands.sample(TEXT)))

    def test_select_is_another_word_for_fields(self):
        words = ["cat", "--json", commands.sample(MESSAGES)]
        self.assertEqual(self.good(*words, "--select", "c,self.f64"), self.good(*words, "--fields", "c,self.f64"))

    def test_fields_that_no_record_has_are_errors(self):
        for command in (["cat"], ["head"], ["tail", "-n", "2"], ["cat", "--shuffle", "1"], ["cat", "--split", "0/1"]):
            done = self.recordfs(*command, "--json", "--fields", "nothing,image/format,features.x", commands.sample(EXAMPLES))
            self.assertEqual(done.status, commands.PARTLY_DONE, command)
            self.assertRegex(done.err, r"\Arecordfs: no record has a field nothing [^\n]*\n(recordfs: no record has a field image/format "
                             r"[^\n]*\n)?recordfs: no record has a field features\.x [^\n]*\n\Z")
        self.assert_ends(commands.PARTLY_DONE, "no record has a field x", "cat", "--json", "--fields", "x", commands.sample(TEXT), "0")
        self.assertEqual(self.good("cat", "--json", "--fields", "x", commands.sample(TEXT), ":0"), b"")
        empty = self.file("empty.tfrecord", b"")
        self.assertEqual(self.good("cat", "--json", "--fields", "x", empty), b"")

    def test_keys_and_values_of_a_table_have_one_form(self):
        sample = commands.sample("leveldb_table/leveldb-compacted.ldb")
        for form in ("base64", "hex"):
            for one in self.objects("cat", "--json", "--no-raw", "--bytes", form, sample):
                self.assertEqual(one["decoded"].keys(), {f"key_{form}", "sequence", "type", f"value_{form}"})

    def test_large_record_has_the_same_forms(self):
        large = self.folder / "large.riegeli"
        kind = "--kind=large" if is_thorough() else "--size=40000000"  # more than is decoded ahead
        subprocess.run([commands.program("make_data"), "riegeli-none", "1", large, kind], check=True)
        out = self.assert_ends(commands.PARTLY_DONE, "no record has a field x", "cat", "--json", "--fields", "x", large)
        self.assertEqual(sorted(json.loads(out)), ["ordinal", "size"])
        for words in (["--no-raw"], ["--bytes", "hex"]):
            made = json.loads(self.good("cat", "--json", *words, large))
            self.assertEqual((made["ordinal"], "hex" in made), (0, "hex" in words))
            self.assertEqual(len(made.get("hex", "")), 2 * made["size"] if "hex" in words else 0)

    def test_examples_have_their_type(self):
        for name in (EXAMPLES, "array_record/examples.array_record"):
            for one in self.objects("cat", "--json", commands.sample(name)):
                if "features" in one.get("decoded", {}):
                    self.assertEqual(one["type"], "tensorflow.Example")
        for one in self.objects("cat", "--json", commands.sample("tfrecord/sequence-examples.tfrecord")):
            self.assertEqual(one["type"], "tensorflow.SequenceExample")

    def test_options_of_json_need_it(self):
        for words in (["--no-raw"], ["--fields", "a"], ["--bytes", "hex"]):
            self.assert_ends(commands.WRONG_USE, f"{words[0]} requires --json", "cat", *words, commands.sample(TEXT))
        self.assert_ends(commands.WRONG_USE, "not auto, base64 or hex: x", "cat", "--json", "--bytes", "x", commands.sample(TEXT))
        self.assert_ends(commands.WRONG_USE, "no column is named", "cat", "--json", "--fields", ",", commands.sample(TEXT))


class Described(Decoded):
    """Types from the file's own descriptors."""

    def test_each_message_is_decoded_beside_its_bytes(self):
        made = self.objects("cat", "--json", commands.sample(MESSAGES))
        self.assertEqual(len(made), 150)
        for one in made:
            self.assertEqual(one["type"], "hdev.Everything")
            self.assertIsInstance(one["decoded"], dict)
            self.assertNotIn("error", one)
            self.assertEqual(len(one["text"].encode() if "text" in one else base64.b64decode(one["base64"])), one["size"])
        self.assertIn({"name": "position zero bucket"}, made[0]["decoded"]["rnested"])

    def test_output_does_not_depend_on_the_number_of_threads(self):
        file = commands.sample(MESSAGES)
        self.assertEqual(self.good("cat", "--json", "-j", "1", file), self.good("cat", "--json", "-j", "5", file))

    @unittest.skipIf(shutil.which("jq") is None, "jq is not installed")
    def test_jq_accepts_every_line_of_every_sample(self):
        out = self.recordfs("cat", "--json", "--skip-damage", "--allow-missing", *commands.containers()).out
        read = subprocess.run(["jq", "-R", "-c", "fromjson | .size"], input=out, stdout=subprocess.PIPE, check=False)
        self.assertEqual(read.returncode, 0)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(read.stdout.splitlines(), [b"%d" % line["size"] for line in lines])
        self.assertGreater(len({line["shard"] for line in lines}), 500)

    def test_program_without_the_module_shows_fields_and_the_reason(self):
        alone = self.folder / "recordfs"
        shutil.copy(commands.program("recordfs"), alone)
        run = subprocess.run([alone, "cat", "--json", commands.sample(MESSAGES), "0"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=True, env=self.environment())
        made = json.loads(run.stdout)
        self.assertIn("libprotobuf is not available", made["error"])
        self.assertEqual(made["type"], "hdev.Everything")
        self.assertEqual(made["fields"][0], {"field": 3, "wire": "varint", "value": "263989"})
        self.assertEqual(run.stderr, b"")
        version = subprocess.run([alone, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertIn("libprotobuf not available\n", version)

    def test_module_of_another_build_is_refused(self):
        for name in PROGRAM_FILES:
            shutil.copy(commands.program(name), self.folder / name)
        module = self.folder / PROGRAM_FILES[1]
        content = module.read_bytes()
        program = (self.folder / "recordfs").read_bytes()
        builds = [word for word in set(DIGEST.findall(content)) if word in set(DIGEST.findall(program))]
        self.assertTrue(builds)
        for build in builds:
            content = content.replace(build, build[::-1])
        module.write_bytes(content)
        run = subprocess.run([self.folder / "recordfs", "cat", "--json", commands.sample(MESSAGES), "0"],
                             stdout=subprocess.PIPE, check=True, env=self.environment())
        self.assertIn("from another build", json.loads(run.stdout)["error"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_module_of_another_user_is_not_loaded(self):
        for name in PROGRAM_FILES:
            shutil.copy(commands.program(name), self.folder / name)
        for owner, why in ((0, None), (12345, "is not installed")):
            os.chown(self.folder / PROGRAM_FILES[1], owner, owner)
            run = subprocess.run([self.folder / "recordfs", "cat", "--json", commands.sample(MESSAGES), "0"],
                                 stdout=subprocess.PIPE, check=True, env=self.environment())
            error = json.loads(run.stdout).get("error")
            self.assertEqual(error is None, why is None, error)
            self.assertIn(why or "", error or "")


class CommandLineTypes(Decoded):
    """Types from descriptors on the command line."""

    def setUp(self):
        super().setUp()
        self.one = self.file("one.pb", descriptor_set(message_type("A", field("u32", 3, INT64))))
        self.two = self.file("two.pb", descriptor_set(message_type("A"), message_type("B")))

    def test_only_type_of_a_file_needs_no_name(self):
        for words in (["--type", "pkg.A"], ["--type", ".pkg.A"], []):
            made = self.objects("cat", "--json", "--descriptors", self.one, *words, commands.sample(MESSAGES), "0")
            self.assertEqual((made[0]["type"], made[0]["decoded"]), ("pkg.A", {"u32": "263989"}))

    def test_types_of_the_command_line_precede_those_of_the_file(self):
        made = self.objects("cat", "--json", "--descriptors", self.two, "--type", "pkg.B", commands.sample(MESSAGES))
        self.assertEqual({one["type"] for one in made}, {"pkg.B"})

    def test_type_without_descriptors_is_one_of_the_file(self):
        made = self.objects("cat", "--json", "--type", "hdev.Nothing", commands.sample(MESSAGES), "0")
        self.assertEqual(made[0]["error"], "no descriptor of this type")
        made = self.objects("cat", "--json", "--type", "hdev.Everything", commands.sample(MESSAGES))
        self.assertEqual(made, self.objects("cat", "--json", commands.sample(MESSAGES)))

    def test_record_that_is_not_such_a_message_has_an_error(self):
        strings = self.file("s.pb", descriptor_set(message_type("A", field("text", 1, STRING))))
        made = self.objects("cat", "--json", "--descriptors", strings, commands.sample(TEXT), ":5")
        self.assertEqual(len(made), 5)
        for one in made:
            self.assertEqual(one["type"], "pkg.A")
            self.assertIn("error", one)
            self.assertTrue(one["text"])

    def test_wrong_descriptors_are_reported_in_one_line(self):
        none = self.folder / "none"
        text = self.file("text", b"syntax = \"proto3\";")
        for words, reason in [
            ((none,), "none: No such file or directory"),
            ((self.folder,), "Is a directory"),
            ((text,), "text: not a serialized FileDescriptorSet"),
            ((self.file("empty", b""),), "empty: not a serialized FileDescriptorSet"),
            ((self.two, "--type", "A"), "contains no message type A"),
        ]:
            with self.subTest(reason=reason):
                self.assert_ends(commands.WRONG_USE, reason, "cat", "--json", "--descriptors", *words,
                                 commands.sample(MESSAGES))
        self.assert_ends(commands.CANNOT_OPEN, r"\w: the descriptors contain 2 message types: pkg\.A, pkg\.B \(try: --type\)", "cat", "--json", "--descriptors",
                         self.two, commands.sample(MESSAGES))
        self.assert_ends(commands.WRONG_USE, "for --json", "cat", "--descriptors", self.one, commands.sample(MESSAGES))

    def test_descriptors_with_missing_imports_are_reported(self):
        broken = self.file("broken.pb", descriptor_set(part(3, "gone.proto"), message_type("A", field("x", 1, INT64))))
        made = self.objects("cat", "--json", "--descriptors", broken, commands.sample(MESSAGES), "0")
        self.assertIn("gone.proto", made[0]["error"])
        self.assertTrue(made[0]["fields"])


class TypesNamedByEvents(Decoded):
    """Entries of a stream without descriptors of their types."""

    def setUp(self):
        super().setUp()
        self.a, self.b = message_type("A", field("u32", 3, INT64)), message_type("B", field("text", 1, STRING))
        self.events = self.file("a.proio", self.stream({7: ("pkg.A", part(3, 42)), 8: (".pkg.B", part(1, "hello"))}))

    @staticmethod
    def stream(entries, header=b""):
        names = sorted({name for name, _ in entries.values()})
        event = b"".join(part(3, part(1, key) + part(2, part(1, names.index(name) + 1) + part(2, payload)))
                         for key, (name, payload) in entries.items())
        event += b"".join(part(5, part(1, number + 1) + part(2, name)) for number, name in enumerate(names))
        header += part(1, 1) + part(2, len(event) + 4)
        return (b"\xe1\xc1" + bytes(14) + len(header).to_bytes(4, "little") + header + len(event).to_bytes(4, "little") + event)

    def entries(self, *words):
        return self.objects("cat", "--json", "--no-raw", *words)[0]["decoded"]["entries"]

    def test_entries_are_decoded_by_the_types_that_events_name(self):
        self.assertEqual({one["error"] for one in self.entries(self.events)}, {"no descriptor of this type"})
        both = self.file("both.pb", descriptor_set(self.a, self.b))
        self.assertEqual(self.entries("--descriptors", both, self.events),
                         [{"id": 7, "type": "pkg.A", "decoded": {"u32": "42"}}, {"id": 8, "type": "pkg.B", "decoded": {"text": "hello"}}])

    def test_only_type_of_the_descriptors_is_not_that_of_events(self):
        first, second = self.entries("--descriptors", self.file("one.pb", descriptor_set(self.a)), self.events)
        self.assertEqual(first, {"id": 7, "type": "pkg.A", "decoded": {"u32": "42"}})
        self.assertEqual((second["type"], second["error"]), ("pkg.B", "no descriptor of this type"))

    def test_type_that_the_descriptors_lack_is_one_of_the_stream(self):
        own = part(5, part(1, "b.proto") + part(2, "pkg") + self.b)
        mixed = self.file("b.proio", self.stream({7: ("pkg.A", part(3, 42)), 8: ("pkg.B", part(1, "hello"))}, own))
        one = self.file("one.pb", descriptor_set(self.a))
        self.assertEqual([made.get("decoded") for made in self.entries("--descriptors", one, mixed)], [{"u32": "42"}, {"text": "hello"}])

    def test_named_type_is_that_of_the_whole_event(self):
        one = self.file("one.pb", descriptor_set(self.a))
        done = self.recordfs("cat", "--json", "--descriptors", one, "--type", "pkg.A", self.events)
        self.assertEqual(json.loads(done.out.splitlines()[0])["type"], "pkg.A")
        self.assertIn("no field of the first records is one of pkg.A", done.err)


class KeysAndValues(Decoded):
    def test_record_of_a_blob_file_has_its_key_and_its_value(self):
        for name in ("none", "snappy", "zlib", "lz4", "zstd"):
            with self.subTest(name):
                made = self.objects("cat", "--json", commands.sample(f"rocksdb_blob/rocksdb7-{name}.blob"))
                self.assertEqual([one["decoded"]["key"] for one in made], [f"key{number:05}" for number in range(40)])
                self.assertEqual(made[3]["decoded"]["value"], "value of 3: " + "to be or not to be " * 5)


    def test_internal_keys_of_a_manifest_are_shown_by_their_parts(self):
        made = self.objects("cat", "--json", commands.sample("database/rocksdb7-blobs/MANIFEST-000005"))
        added = [field for one in made for field in one["decoded"] if field["name"] == "new_file4"]
        self.assertEqual((added[0]["smallest"], added[0]["largest"]), ({"key": "key00000", "sequence": 1, "type": "blob_index"},
                                                                       {"key": "key00029", "sequence": 30, "type": "put"}))


class MetadataOfEvents(Decoded):
    """Metadata of proio, which changes along the file."""

    FILE = "proio/c16-metadata.proio"  # 100 events, and another run after each 10

    def test_each_event_has_the_metadata_in_effect(self):
        runs = [one["decoded"]["metadata"]["run"] for one in self.objects("cat", "--json", commands.sample(self.FILE))]
        self.assertEqual(runs, [f"run {number // 10}" for number in range(100)])

    def test_fields_pick_metadata(self):
        made = self.objects("cat", "--json", "--fields", "metadata.run", commands.sample(self.FILE), "9:11")
        self.assertEqual([one["decoded"] for one in made], [{"metadata": {"run": f"run {number}"}} for number in (0, 1)])

    def test_values_have_the_form_of_other_bytes(self):
        auto, encoded = (self.objects("cat", "--json", "--bytes", form, commands.sample(self.FILE), "42")[0]["decoded"]["metadata"]
                         for form in ("auto", "hex"))
        self.assertEqual(bytes.fromhex(encoded["run_hex"]), auto["run"].encode())
        self.assertEqual(bytes.fromhex(encoded["info:even_hex"]), base64.b64decode(auto["info:even_base64"]))

    def test_keys_that_do_not_fit_are_counted(self):
        metadata = {b"large": b"x" * 5000, b"run": b"7", b"\xff": b"\xfe", b"a_hex": b"b"}
        header = part(1, 1) + part(2, 4) + b"".join(part(7, part(1, key) + part(2, value)) for key, value in metadata.items())
        file = self.file("a.proio", b"\xe1\xc1" + bytes(14) + len(header).to_bytes(4, "little") + header + bytes(4))
        self.assertEqual(self.objects("cat", "--json", "--no-raw", file)[0]["decoded"],
                         {"tags": {}, "entries": [], "metadata": {"run": "7"}, "metadata_omitted": 1,
                          "other_metadata": [{"key": "a_hex", "value": "b"}, {"key_base64": "/w==", "value_base64": "/g=="}]})

    def test_grep_finds_events_by_their_metadata(self):
        self.assertEqual(self.good("grep", "-c", "--field", "metadata.run", "run [78]$", commands.sample(self.FILE)), b"20\n")


class BuiltIn(Decoded):
    """Records of TensorBoard and wandb, whose types recordfs brings."""
    FIRST = fixed64_field(1, 1700000000.5) + part(3, "brain.Event:2")

    def decoded(self, path):
        return [one["decoded"] for one in self.objects("cat", "--json", path)]

    def event(self, value):
        """Writes an event file with a summary. Returns the summary's value as it is decoded."""
        event = fixed64_field(1, 2.5) + part(2, 7) + part(5, part(1, value))
        first, second = self.decoded(self.file("a.out.tfevents.1", tfrecord([self.FIRST, event])))
        self.assertEqual(first, {"wall_time": 1700000000.5, "file_version": "brain.Event:2"})
        self.assertEqual((second["wall_time"], second["step"]), (2.5, "7"))
        return second["summary"]["value"][0]

    def test_scalars_of_an_event_file(self):
        events = self.decoded(commands.sample("tfrecord/events.out.tfevents.1700000000.host"))
        self.assertEqual(events[2], {"wall_time": 1700000002, "step": "1",
                                     "summary": {"value": [{"tag": "loss", "simple_value": 0.5}]}})

    def test_tensors_histograms_and_images(self):
        plugin = part(9, part(1, part(1, "scalars")) + part(4, 1))
        tensor = part(1, 1) + part(2, part(2, part(1, 2))) + part(4, b"\x00\x00\x80\x3f" * 2)
        self.assertEqual(self.event(part(1, "loss") + plugin + part(8, tensor)), {
            "tag": "loss", "metadata": {"plugin_data": {"plugin_name": "scalars"}, "data_class": "DATA_CLASS_SCALAR"},
            "tensor": {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": "2"}]}, "tensor_content": "AACAPwAAgD8="}})
        histogram = fixed64_field(1, -1) + fixed64_field(3, 2) + part(6, struct.pack("<2d", 0, 1)) + part(7, struct.pack("<2d", 1, 1))
        self.assertEqual(self.event(part(5, histogram))["histo"],
                         {"min": -1, "num": 2, "bucket_limit": [0, 1], "bucket": [1, 1]})
        self.assertEqual(self.event(part(4, part(1, 3) + part(2, 4) + part(4, b"\x89PNG")))["image"],
                         {"height": 3, "width": 4, "encoded_image_string": "iVBORw=="})

    def test_content_of_the_hparams_plugin(self):
        def content(name, data):
            return self.event(part(9, part(1, part(1, name) + part(2, data))))["metadata"]["plugin_data"].get("content")
        values = {"lr": fixed64_field(2, 0.5), "opt": part(3, "adam"), "n": part(4, 1), "list": part(6, part(1, fixed64_field(2, 1)))}
        start = b"".join(part(1, part(1, name) + part(2, value)) for name, value in values.items()) + fixed64_field(5, 2.5)
        self.assertEqual(content("hparams", part(3, start)), {"session_start_info": {
            "hparams": {"lr": 0.5, "opt": "adam", "n": True, "list": [1]}, "start_time_secs": 2.5}})
        info = part(1, "lr") + part(4, 3) + part(6, fixed64_field(1, 0.1) + fixed64_field(2, 1))
        self.assertEqual(content("hparams", part(2, part(6, "test") + part(4, info) + part(5, part(1, part(2, "loss"))))), {"experiment": {
            "name": "test", "hparam_infos": [{"name": "lr", "type": "DATA_TYPE_FLOAT64", "domain_interval": {"min_value": 0.1, "max_value": 1}}],
            "metric_infos": [{"name": {"tag": "loss"}}]}})
        self.assertEqual(content("hparams", part(4, part(1, 1))), {"session_end_info": {"status": "STATUS_SUCCESS"}})
        self.assertEqual(content("scalars", part(4, part(1, 1))), "IgIIAQ==")
        self.assertEqual(content("hparams", b"\xff"), "/w==")  # no message

    def test_history_of_a_run(self):
        run = self.decoded(commands.sample("wandb/run-g9dvvkua.wandb"))
        self.assertEqual(run[0]["run"]["run_id"], "g9dvvkua")
        self.assertEqual(run[2], {"num": "3", "history": {"item": [{"key": "loss", "value_json": "0.5"}], "step": {"num": "1"}}})

    def test_type_of_the_user_comes_first(self):
        types = self.file("types", descriptor_set(message_type("Other", field("time", 1, 1)), name="b.proto"))
        sample = commands.sample("tfrecord/events.out.tfevents.1700000000.host")
        first = self.objects("cat", "--json", f"--descriptors={types}", "--type=pkg.Other", sample)[0]
        self.assertEqual((first["type"], first["decoded"]), ("pkg.Other", {"time": 1700000000.5}))


class Untyped(Decoded):
    def test_message_of_unknown_type_has_its_fields(self):
        proto = "riegeli/transposed_mixed_nonproto.riegeli"
        made = self.objects("cat", "--json", commands.sample(proto))
        messages = [one for one in made if "fields" in one]
        self.assertGreater(len(messages), 10)
        for one in made:
            self.assertNotIn("type", one)
            self.assertNotIn("error", one)
        for one in messages:
            self.assertTrue(all({"field", "wire"} <= set(entry) for entry in one["fields"]))

    def test_damaged_descriptor_of_a_stream_is_damage(self):
        content = bytearray(commands.sample("proio/c18-event-metadata.proio").read_bytes())
        content[780] ^= 8  # of a type
        damaged, copy = self.file("damaged.proio", bytes(content)), self.folder / "copy.proio"
        for words in (("verify", damaged), ("cat", "--json", damaged), ("export", damaged, "-o", self.folder / "x.riegeli"),
                      ("report", damaged, "-o", self.folder / "x.html"), ("recover", damaged, "-o", copy)):
            done = self.recordfs(*words)
            self.assertEqual(done.status, 4, words)
            if words[0] != "report":
                self.assertIn(b"bytes 27 to 1271: damage: cannot read a descriptor of protobuf types; 0 records lost",
                              done.out + done.err.encode(), words)
        self.good("verify", copy)
        self.assertEqual(self.good("cat", "--skip-damage", "--delimited", copy), self.recordfs("cat", "--skip-damage", "--delimited", damaged).out)

    def test_damaged_metadata_that_names_the_type_is_damage(self):
        content = bytearray(commands.sample(MESSAGES).read_bytes())
        content[300] ^= 1
        damaged = self.file("damaged.riegeli", bytes(content))
        self.good("cat", damaged, "0")  # bytes need no type
        reading = (("cat", "--json"), ("head", "--json"), ("ls", "--where", "d is null"), ("cp", "--where", "d is null", ":"), ("grep", "--decoded", "x"),
                   ("info",), ("info", "--json", "--scan"), ("export", "--to", "csv", "-o", "-"), ("export", "-o", self.folder / "copy.riegeli"))
        for command, *options in reading:
            words = [command, damaged, *options, *([self.folder] if command == "cp" else [])]
            words = [command, "x", damaged, "--decoded"] if command == "grep" else words
            done = self.recordfs(*words)
            self.assertIn("damaged.riegeli: byte 64: the hash of the chunk's data does not match", done.err, words)
            self.assertEqual(done.status, 2 if command == "grep" else 4, words)
        self.assertFalse((self.folder / "copy.riegeli").exists())


if __name__ == "__main__":
    commands.main()
