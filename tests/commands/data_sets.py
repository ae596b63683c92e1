"""Data sets of several files, for tests of commands."""
import json

import commands
from built import delimited
from tfrecords import tfrecord


def records_in(path):
    return commands.expectation(path)["num_records"]


class Sets(commands.Case):
    def make_set(self, samples, count, name="set"):
        """Links `count` shards to samples in turn. Returns their paths."""
        suffix = "".join(samples[0].suffixes[-1:])
        paths = []
        for i in range(count):
            path = self.folder / f"{name}-{i:05}-of-{count:05}{suffix}"
            path.symlink_to(samples[i % len(samples)])
            paths.append(path)
        return paths

    def make_text_set(self, counts, name="text"):
        """Writes TFRecord shards of so many short records. Returns paths, and all records."""
        paths, records = [], []
        for i, count in enumerate(counts):
            shard = [f"record {len(records) + n}".encode() for n in range(count)]
            path = self.folder / f"{name}-{i:05}-of-{len(counts):05}.tfrecord"
            path.write_bytes(tfrecord(shard))
            paths.append(path)
            records += shard
        return paths, records

    def records(self, *words):
        return delimited(self.good("cat", "--delimited", *words))

    def lines(self, *words):
        return [json.loads(line) for line in self.good(*words).splitlines()]
