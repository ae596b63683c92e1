#!/usr/bin/env python3
"""How many FUSE requests a user's command causes, counted in the daemon's trace (-d)."""
import collections
import os
import re
import time

import mounting

SAMPLE = "riegeli/multiblock_zstd.riegeli"
RECORDS = 1250
OPCODE = re.compile(r"opcode: (\w+) \(")
PUSHED = re.compile(r"NOTIFY: code=4 ")
AT_MOST_ONCE = ("OPEN", "OPENDIR", "FLUSH", "GETXATTR", "LISTXATTR", "STATX", "LSEEK", "ACCESS")
NEVER = ("RELEASE", "RELEASEDIR", "FSYNC", "POLL")


class Requests(mounting.Case):
    def setUp(self):
        super().setUp()
        self.mounted = self.mount(mounting.sample(SAMPLE), flags=["-d"])
        self.sent()

    def sent(self):
        """Returns the number of requests so far, by name. The kernel may send the last ones after a command has ended."""
        time.sleep(0.05)
        return collections.Counter(OPCODE.findall(self.mounted.log()))

    def assert_costs_nothing(self, *command):
        """Tries five times: a kernel that reclaims memory in advance may have dropped a page."""
        costs = []
        for _ in range(5):
            costs.append(self.costs(*command))
            if not costs[-1]:
                return
        self.fail(f"{command}: {costs}")

    def pushed(self):
        """Returns how many records the daemon has pushed into the page cache, or tried to."""
        return len(PUSHED.findall(self.mounted.log()))

    def pushed_since(self, before, want):
        """Returns how many records were pushed since `before`. Waits up to 5 s for the wanted number."""
        end = time.monotonic() + 5
        while self.pushed() - before < want and time.monotonic() < end:
            time.sleep(0.01)
        return self.pushed() - before

    def costs(self, *command):
        before = self.sent()
        done = mounting.run(*command, cwd=self.mounted.point)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.sent() - before

    def test_second_use_of_any_file_sends_no_request(self):
        for command in [("stat", "records/3"), ("cat", "streams/concat"), ("cat", "index/chunks.tsv"), ("readlink", "chunks"),
                        ("test", "-r", "info.json"), ("cat", "chunks/64/records/0")]:
            self.costs(*command)
            self.assert_costs_nothing(*command)

    def test_missing_name_is_looked_up_once(self):
        missing = ("bash", "-c", "! test -e records/nothing")
        self.assertEqual(self.costs(*missing)["LOOKUP"], 2)
        self.assert_costs_nothing(*missing)

    def test_first_cat_sends_a_lookup_and_a_read(self):
        self.costs("cat", "records/000000001")
        costs = [self.costs("cat", f"records/{ordinal:09}") for ordinal in (900, 300, 600)]
        self.assertIn({"LOOKUP": 1, "READ": 1}, costs)

    def test_open_and_similar_requests_are_sent_at_most_once(self):
        for command in [("cat", "records/000000007"), ("cat", "info.json"), ("ls", "-l", "records"), ("ls", "-la"),
                        ("find", ".", "-type", "f"), ("tar", "-cf", "/dev/null", "."), ("head", "-c", "3", "streams/lines")]:
            mounting.run(*command, cwd=self.mounted.point)
        total = self.sent()
        for name in AT_MOST_ONCE:
            self.assertLessEqual(total[name], 1, total)
        for name in NEVER:
            self.assertEqual(total[name], 0, total)

    def test_grep_of_all_records_sends_at_most_one_request_per_record(self):
        cost = self.costs("grep", "-r", "-a", "-c", "-m1", "reader", "--include=0*", ".")
        self.assertLessEqual(cost["READ"], RECORDS)
        self.assertLess(cost["LOOKUP"] + cost["GETATTR"], 10)
        self.assertLess(cost["READDIRPLUS"] + cost["READDIR"], RECORDS / 15)

    def test_second_grep_sends_only_listing_requests(self):
        command = ("grep", "-r", "-a", "-c", "-m1", "reader", "--include=0*", ".")
        self.costs(*command)
        cost = self.costs(*command)
        # A kernel that reclaims memory in advance may have dropped some pages and names.
        self.assertLess(cost["READ"], RECORDS / 20)
        self.assertLess(cost["LOOKUP"], RECORDS / 20)
        self.assertEqual(set(cost) - {"READDIR", "READDIRPLUS", "READ", "LOOKUP"}, set())

    def test_long_listing_sends_only_listing_requests(self):
        cost = self.costs("ls", "-l", "records")
        self.assertLess(cost["LOOKUP"] + cost["GETATTR"], 5)
        self.assertEqual(cost["READ"], 0)
        self.assertLessEqual(cost["GETXATTR"] + cost["LISTXATTR"], 2)

    def test_stream_is_read_in_large_requests(self):
        size = (self.mounted / "streams/concat").stat().st_size
        cost = self.costs("cat", "streams/concat")
        self.assertLessEqual(cost["READ"], size // 65536 + 4)

    def test_sequential_reader_gets_the_next_records_pushed(self):
        want = self.mount(mounting.sample(SAMPLE))
        tries = []
        # A kernel that reclaims memory in advance may have dropped a page or a name.
        for first in range(100, 1100, 200):
            tries.append(list(self.read_sequentially(first, want)))
            if tries[-1] == [15, {}, 0, {"READ": 1}, 31]:
                return
        self.fail(tries)

    def read_sequentially(self, first, want):
        """Yields, step by step, the requests of a sequential reader, or how many records are pushed meanwhile."""
        self.costs("ls", "-l", "records")
        before = self.pushed()
        self.costs("cat", f"records/{first:09}", f"records/{first + 1:09}")
        yield self.pushed_since(before, 15)
        total = collections.Counter()
        for ordinal in range(first + 2, first + 10):
            total += self.costs("cmp", f"records/{ordinal:09}", want / f"records/{ordinal:09}")
        yield total
        yield self.pushed() - before - 15
        yield self.costs("cat", f"records/{first + 10:09}")
        yield self.pushed_since(before + 15, 31)

    def test_random_reader_gets_nothing_pushed(self):
        self.costs("ls", "-l", "records")
        for ordinal in (5, 900, 17, 16, 400, 402, 404, 3, 910):
            self.costs("cat", f"records/{ordinal:09}")
        self.assertEqual(self.pushed(), 0)

    def test_records_unknown_to_the_kernel_are_rarely_pushed(self):
        for ordinal in range(100, 140):
            self.assertGreaterEqual(self.costs("cat", f"records/{ordinal}")["READ"], 1)
        self.assertLess(self.pushed(), 12)

    def test_trace_has_the_expected_format(self):
        """Otherwise every count in this file would be 0."""
        os.listdir(self.mounted / "records")
        self.assertGreater(self.sent()["LOOKUP"], 0)
        self.assertEqual(self.sent()["INIT"], 1)


class LateReplies(mounting.Case):
    """A thread of the daemon is delayed after it has replied to the READ of a record."""
    LATE = 100

    def setUp(self):
        super().setUp()
        self.source, self.records = mounting.make_container(self.folder, 200)

    def environment(self, user=None):
        changed = dict(super().environment(user), LD_PRELOAD=mounting.program("late_replies.so"),
                       RECORDFS_LATE_REPLY=self.records[self.LATE].decode())
        changed["ASAN_OPTIONS"] += ":verify_asan_link_order=0"  # the module is loaded first
        return changed

    def test_sequential_reader_is_recognized_whichever_thread_continues_first(self):
        mounted = self.mount(self.source, flags=["-d"])
        records = [mounted / f"records/{ordinal:09}" for ordinal in (self.LATE, self.LATE + 1)]
        done = mounting.run("cat", *records)
        self.assertEqual(done.stdout.encode(), b"".join(self.records[self.LATE:self.LATE + 2]))
        mounting.wait_for(lambda: PUSHED.search(mounted.log()), "a pushed record", 5)


if __name__ == "__main__":
    mounting.main()
