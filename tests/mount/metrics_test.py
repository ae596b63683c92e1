#!/usr/bin/env python3
"""The metrics of a mount for Prometheus: -o metrics=FILE."""
import contextlib
import os
import re

import mounting
from tfrecords import tfrecord

SAMPLE = "riegeli/multiblock_zstd.riegeli"
SAMPLE_LINE = re.compile(r'(?P<name>[a-z_]+)\{((?P<label>[a-z_]+)="(?P<value>[a-z0-9.]+)",)?mount="(?P<mount>([^"\\]|\\.)+)"\} '
                         r'(?P<number>\d+)')


def parsed(text):
    """Returns {name or (name, label's value): number} of a text, and the type of each name. Fails if the text is not complete."""
    numbers, types, helps = {}, {}, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, sentence = line[len("# HELP "):].split(" ", 1)
            assert sentence.endswith("."), line
            helps.add(name)
        elif line.startswith("# TYPE "):
            name, types[name] = line[len("# TYPE "):].split(" ")
        else:
            sample = SAMPLE_LINE.fullmatch(line)
            assert sample, line
            name = sample["name"]
            assert name in types and name in helps, line
            numbers[(name, sample["value"]) if sample["label"] else name] = int(sample["number"])
    assert text.endswith("\n") and "recordfs_uptime_seconds" in numbers, text
    return numbers, types


class Metrics(mounting.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "metrics").mkdir()
        self.file = self.folder / "metrics/recordfs.prom"

    def once(self, condition, what):
        """Returns the first numbers for which a condition holds."""
        def good():
            with contextlib.suppress(FileNotFoundError):
                text = self.file.read_text(encoding="utf-8")
                numbers = parsed(text)[0] if text else {}
                return numbers if numbers and condition(numbers) else None
        return mounting.wait_for(good, what)

    def mount_with_metrics(self, source, flags=()):
        return self.mount(source, flags=list(flags), options=[f"metrics={self.file}"])

    def test_requests_caches_and_bytes_are_counted(self):
        mounted = self.mount_with_metrics(self.copy(SAMPLE))
        record = (mounted / "records/000000042").read_bytes()
        numbers = self.once(lambda found: found["recordfs_requests_total", "read"] > 0, "a counted READ")
        self.assertGreater(numbers["recordfs_requests_total", "lookup"], 0)
        self.assertGreater(numbers["recordfs_cache_misses_total", "chunks"], 0)
        self.assertGreaterEqual(numbers["recordfs_decoded_bytes_total"], len(record))
        self.assertGreater(numbers["recordfs_read_bytes_total"], 0)
        self.assertGreater(numbers["recordfs_cache_bytes", "chunks"], 0)
        self.assertEqual(numbers["recordfs_damage_total"], 0)
        self.assertEqual(mounted.unmount(), 0)

    def test_names_and_types_are_as_prometheus_recommends(self):
        mounted = self.mount_with_metrics(self.copy(SAMPLE))
        self.once(lambda found: True, "metrics")
        _, types = parsed(self.file.read_text(encoding="utf-8"))
        for name, kind in types.items():
            self.assertRegex(name, r"\Arecordfs_[a-z_]+\Z")
            self.assertEqual(kind, "counter" if name.endswith("_total") else "gauge", name)
        self.assertEqual(mounted.unmount(), 0)

    def mounts(self):
        """Returns the values of the label `mount`."""
        lines = map(SAMPLE_LINE.fullmatch, self.file.read_text(encoding="utf-8").splitlines())
        return {sample["mount"] for sample in lines if sample}

    def test_each_number_has_the_mount_point_as_a_label(self):
        point = self.folder / 'a "\\ b'
        point.mkdir()
        mounted = self.mount(self.copy(SAMPLE), options=[f"metrics={self.file}"], point=point)
        self.once(lambda found: True, "metrics")
        self.assertEqual(self.mounts(), {str(point).replace("\\", "\\\\").replace('"', '\\"')})
        self.assertEqual(mounted.unmount(), 0)

    def test_redacted_metrics_have_the_name_of_their_file_instead(self):
        mounted = self.mount(self.copy(SAMPLE), options=[f"metrics={self.file}", "redact"])
        self.once(lambda found: True, "metrics")
        self.assertEqual(self.mounts(), {str(self.file)})
        self.assertEqual(mounted.unmount(), 0)

    def test_version_and_state_of_scans_are_shown(self):
        mounted = self.mount_with_metrics(self.copy(SAMPLE))
        version = self.recordfs("--version").stdout.split()[1]
        numbers = self.once(lambda found: True, "metrics")
        self.assertEqual(numbers["recordfs_build_info", version], 1)
        self.assertEqual([numbers[f"recordfs_{name}"] for name in ("sources", "scanned_sources", "missing_shards")], [1, 0, 0])
        os.listdir(mounted / "records")
        self.once(lambda found: found["recordfs_scanned_sources"] == 1, "a complete scan")
        self.assertEqual(mounted.unmount(), 0)

    def test_read_errors_are_counted(self):
        mounted = self.mount_with_metrics(mounting.with_bit_flipped(self.copy(SAMPLE), 84003))
        self.assertEqual(self.once(lambda found: True, "metrics")["recordfs_read_errors_total"], 0)
        failed = 0
        for name in os.listdir(mounted / "records"):
            try:
                (mounted / "records" / name).read_bytes()
            except OSError:
                failed += 1
        self.assertGreater(failed, 0)
        self.once(lambda found: found["recordfs_read_errors_total"] >= failed, "counted errors")
        self.assertEqual(mounted.unmount(), 0)

    def test_damage_is_counted(self):
        mounted = self.mount_with_metrics(mounting.with_bit_flipped(self.copy(SAMPLE), 84003))
        for name in os.listdir(mounted / "records"):
            with contextlib.suppress(OSError):
                (mounted / "records" / name).read_bytes()
        self.once(lambda found: found["recordfs_damage_total"] == 1, "counted damage")
        self.assertEqual(mounted.unmount(), 0)

    def test_missing_shards_count_as_damage_and_are_logged(self):
        data = self.folder / "data"
        data.mkdir()
        for number in (0, 4, 6):
            (data / f"part-{number:05}-of-00007.tfrecord").write_bytes(tfrecord([b"x"]))
        mounted = self.mount_with_metrics(data, flags=["-f", "--join"])
        self.once(lambda found: found["recordfs_damage_total"] == 4, "counted shards")
        mounted.wait_for_log(r"part-\?{5}-of-00007\.tfrecord: shards 00001-00003 \(3\) are missing")
        mounted.wait_for_log(r"part-00005-of-00007\.tfrecord: this shard is missing")
        self.assertEqual(mounted.unmount(), 0)

    def test_file_is_replaced_as_a_whole_and_removed_at_the_end(self):
        mounted = self.mount_with_metrics(self.copy(SAMPLE), flags=["-f"])
        self.once(lambda found: True, "metrics")
        first = self.file.stat().st_ino
        self.once(lambda found: self.file.stat().st_ino != first and found["recordfs_uptime_seconds"] > 0, "the next metrics")
        self.assertEqual(os.listdir(self.file.parent), [self.file.name])
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o644 & ~os_umask())
        self.assertEqual(mounted.unmount(), 0)
        self.assertEqual(os.listdir(self.file.parent), [])
        self.assertNotIn("warning", mounted.log())

    def test_file_that_cannot_be_written_is_a_usage_error(self):
        for name, reason in (("none/x.prom", "No such file or directory"), ("metrics/", "not the name of a file")):
            done = self.recordfs("-o", f"metrics={self.folder}/{name}", self.copy(SAMPLE), self.new_point())
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rf"\Arecordfs: -o metrics=.*: {reason}\n\Z")

    def test_hidden_name_that_is_taken_is_not_opened(self):
        other = self.folder / "other"
        other.write_text("other", encoding="utf-8")
        taken = []
        for pid in range(1, 400):
            taken.append(self.file.parent / f".{self.file.name}.{os.getpid() + pid}")
            if pid % 2 == 0:
                taken[-1].symlink_to(other)
            else:
                os.mkfifo(taken[-1])
        mounted = self.mount_with_metrics(self.copy(SAMPLE))
        self.once(lambda found: True, "metrics")
        self.assertEqual(other.read_text(encoding="utf-8"), "other")
        self.assertEqual(mounted.unmount(), 0)

    def test_file_of_a_killed_daemon_is_removed(self):
        mounted = self.mount_with_metrics(self.copy(SAMPLE), flags=["-f"])
        self.once(lambda found: True, "metrics")
        mounted.daemon.kill()
        mounting.wait_for(lambda: not self.file.exists(), "the file's end")

    def test_failed_mount_leaves_no_file(self):
        done = self.recordfs("-o", f"metrics={self.file}", self.folder / "none", self.new_point())
        self.assertEqual(done.returncode, 2)
        self.assertEqual(os.listdir(self.file.parent), [])


def os_umask():
    """Returns the mask of new files, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    mounting.main()
