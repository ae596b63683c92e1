#!/usr/bin/env python3
"""Very many requests to a server that fails at random: no answer is wrong.

    many_requests.py --bin FOLDER --root CHECKOUT [--requests N] [--seconds N] [--faults PER_MILLION] [--seed N]

Commands read files of known records from faulty_server, some at a time. Each must give the answer that it gives for the
local files, or fail with a message; what it has written until then must be the front of the right answer. Ends after as
many requests or seconds, and prints how many requests there were, and how many commands failed.
"""
import collections
import contextlib
import hashlib
import itertools
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import built
import remoting
from tfrecords import tfrecord

WORKERS = 12
SMALL_FILES, LARGE_RECORDS = 1500, 60_000
FILES_OF_A_COMMAND = 120


class Files:
    """The files that are served, and the right answers."""

    def __init__(self, folder, chance):
        self.root = folder / "root"
        self.root.mkdir()
        self.records = {}
        for number in range(SMALL_FILES):
            self.add(f"{number:05}.tfrecord", [b"%05d/%03d " % (number, i) + chance.randbytes(chance.randrange(300)) for i in range(chance.randrange(1, 30))])
        self.small = list(self.records)
        self.add("large.tfrecord", [b"%06d " % number + chance.randbytes(1000) for number in range(LARGE_RECORDS)])

    def add(self, name, records):
        self.records[name] = records
        (self.root / name).write_bytes(tfrecord(records))


class Server:
    """A running faulty_server."""

    def __init__(self, root, faults, seed):
        self.running = subprocess.Popen([built.program("faulty_server"), root, str(faults), str(seed)], stdout=subprocess.PIPE, text=True)
        self.origin = f"http://127.0.0.1:{int(self.running.stdout.readline())}"

    def stop(self):
        """Returns {what: how often}."""
        self.running.send_signal(signal.SIGTERM)
        lines = self.running.communicate()[0].splitlines()
        counts = dict(line.rsplit(": ", 1) for line in lines[1:])
        return {"requests": int(lines[0].split()[0])} | {name: int(count) for name, count in counts.items()}


class Campaign:
    def __init__(self, folder, files, server, most_requests, most_seconds, seed):
        self.folder, self.files, self.server, self.seed = folder, files, server, seed
        self.environment = remoting.environment(folder)
        self.least_requests, self.end = most_requests, time.monotonic() + most_seconds
        self.lock = threading.Lock()
        self.done, self.failed, self.opened = 0, collections.Counter(), 0
        self.wrong = []
        self.numbers = itertools.count()

    def is_over(self):
        # Each file that is opened is at least one request.
        return self.wrong or self.opened >= self.least_requests or time.monotonic() > self.end

    def work(self):
        while not self.is_over():
            chance = random.Random(f"{self.seed} {next(self.numbers)}")
            chance.choice((self.check_cat, self.check_cat, self.check_info, self.check_large))(chance)

    def run(self, *words):
        return remoting.run([*words, "--timeout", "20", *chance_of_cache(words)], self.environment, timeout=600)

    def note(self, done, opened, is_right, words):
        """`is_right`: of the output; of a command that has failed, that it is the front of the right one."""
        with self.lock:
            self.done += 1
            self.opened += opened
            if done.status != 0:
                self.failed[re.sub(r"\S*127\.0\.0\.1\S*", "URL", done.err.splitlines()[-1] if done.err else "no message")] += 1
            if not is_right or (done.status != 0 and not done.err) or done.status < 0:
                self.wrong.append((words, done.status, done.err, hashlib.sha256(done.out).hexdigest(), len(done.out)))

    def url(self, name):
        return f"{self.server.origin}/{name}"

    def check_cat(self, chance):
        names = chance.sample(self.files.small, FILES_OF_A_COMMAND)
        expected = b"".join(record for name in names for record in self.files.records[name])
        done = self.run("cat", *map(self.url, names))
        self.note(done, len(names), done.out == expected if done.status == 0 else expected.startswith(done.out), ("cat", *names))

    def check_info(self, chance):
        """verify reports each file by a line of its own."""
        names = chance.sample(self.files.small, FILES_OF_A_COMMAND)
        done = self.run("verify", "--json", *map(self.url, names))
        found = re.findall(r'"file":"[^"]*/(\d+\.tfrecord)"[^\n]*?"records":(\d+)', done.out.decode())
        is_right = all(len(self.files.records[name]) == int(count) for name, count in found)
        self.note(done, len(names), is_right and (done.status != 0 or len(found) == len(names)), ("verify", *names))

    def check_large(self, chance):
        records = self.files.records["large.tfrecord"]
        begin = chance.randrange(len(records))
        end = min(len(records), begin + chance.choice((1, 10, 3000)))
        expected = b"".join(records[begin:end])
        done = self.run("cat", self.url("large.tfrecord"), f"{begin}:{end}")
        self.note(done, 20, done.out == expected if done.status == 0 else expected.startswith(done.out), ("cat", "large", begin, end))


def chance_of_cache(words):
    """Of the commands, some use the cache on disk."""
    return [] if hash(words) % 3 == 0 else ["--no-cache"]


def main():
    given = {"--requests": 3000, "--seconds": 10_000, "--faults": 10_000, "--seed": 1}
    for option in list(given):
        if option in sys.argv:
            at = sys.argv.index(option)
            given[option] = int(sys.argv[at + 1])
            del sys.argv[at:at + 2]
    built.parse_places()
    folder = Path(tempfile.mkdtemp(prefix="recordfs-test-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        files = Files(folder, random.Random(given["--seed"]))
        server = Server(files.root, given["--faults"], given["--seed"])
        stack.callback(server.running.kill)
        campaign = Campaign(folder, files, server, given["--requests"], given["--seconds"], given["--seed"])
        workers = [threading.Thread(target=campaign.work) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        counts = server.stop()
    print(f"{campaign.done} commands, of which {sum(campaign.failed.values())} failed; server:", counts)
    for message, count in campaign.failed.most_common():
        print(f"{count:6} {message}")
    for wrong in campaign.wrong:
        print("WRONG:", wrong)
    sys.exit(1 if campaign.wrong or counts["requests"] == 0 else 0)


if __name__ == "__main__":
    main()
