#!/usr/bin/env python3
"""The disk cache of recordfs-fetch, driven over its socket."""
import base64
import os
import random
import signal
import time

import built
import faults
import fetcher
from fetcher_case import BLOCK, DATA, FetcherTest
from server import Answer, Object, Rule, Server, http_date


class TimeAndSize(Server):
    """Makes ETags of times and sizes, as nginx does, and all objects at the same time."""

    def find(self, path):
        found = super().find(path)
        if isinstance(found, Object):
            found.modified, found.etag = 1_700_000_000, f'"6553f100-{found.size:x}"'
        return found


class Personal(TimeAndSize):
    """Shows each user the objects of a directory with their name."""

    def answer(self, request):
        scheme, _, pair = request.headers.get("authorization", "").partition(" ")
        if scheme != "Basic":
            return Answer(401)
        request.path = f"/{base64.b64decode(pair).decode().partition(':')[0]}{request.path}"
        return super().answer(request)


class CacheTest(FetcherTest):
    def test_second_fetcher_reads_blocks_from_the_disk(self):
        first = self.start(cache=self.cache)
        self.assert_read(first, first.open(self.url), 0, len(DATA))
        second = self.start(cache=self.cache)
        opened = second.open(self.url)
        self.server.take_log()
        reply = self.assert_read(second, opened, 0, len(DATA))
        self.assertEqual((reply.cache_hits, self.server.requests), (6, []))
        self.assertEqual(self.assert_read(second, opened, BLOCK, 2 * BLOCK).cache_hits, 8)

    def test_only_missing_blocks_are_requested(self):
        fetching = self.start(cache=self.cache)
        opened = fetching.open(self.url)
        self.assert_read(fetching, opened, 4 * BLOCK, BLOCK)
        self.server.take_log()
        self.assert_read(fetching, opened, 0, 5 * BLOCK)
        self.assertEqual([request.range for request in self.server.requests], [f"bytes={BLOCK}-{4 * BLOCK - 1}"])

    def test_blocks_of_an_opening_are_kept_where_they_are(self):
        fetching = self.start(cache=self.cache)
        opened = fetching.open(self.url, begin=3 * BLOCK, size=2 * BLOCK)
        self.server.take_log()
        self.assertEqual(self.assert_read(fetching, opened, 3 * BLOCK, 2 * BLOCK).cache_hits, 2)
        self.assert_read(fetching, opened, 0, len(DATA))
        self.assertEqual([request.range for request in self.server.requests], [f"bytes=0-{len(DATA) - 1}"])

    def test_changed_object_has_other_blocks(self):
        fetching = self.start(cache=self.cache)
        self.assert_read(fetching, fetching.open(self.url), 0, len(DATA))
        self.server.put("x", DATA[::-1])
        changed = fetching.open(self.url)
        self.assertEqual(fetching.read(changed, 0, len(DATA)).data, DATA[::-1])

    def read_all(self, url, **options):
        """Returns the version of an object and its bytes, which a new fetcher has read."""
        fetching = self.start("--no-sign-request", cache=self.cache, **options)
        opened = fetching.open(url)
        self.assertTrue(opened.is_settled, opened.text)
        self.assertEqual(fetching.status(url).version, opened.version)
        return opened.version, fetching.read(opened, 0, opened.size).data

    def test_services_with_equal_names_and_etags_share_no_blocks(self):
        for url, variable, path in (("s3://bucket/x", "AWS_ENDPOINT_URL", "bucket/x"), ("gs://bucket/x", "STORAGE_EMULATOR_HOST", "bucket/x"),
                                    ("hf://datasets/user/repo/x", "HF_ENDPOINT", "datasets/user/repo/resolve/main/x")):
            versions = set()
            for data in (DATA, DATA[::-1]):
                service = self.serve(TimeAndSize)
                service.put(path, data)
                for _ in range(2):
                    version, read = self.read_all(url, environment={variable: service.origin, "AWS_EC2_METADATA_DISABLED": "true"})
                    self.assertEqual(read, data, url)
                    versions.add(version)
            self.assertEqual(len(versions), 2, versions)

    def test_users_of_a_server_share_no_blocks(self):
        server = self.serve(Personal)
        server.put("alice/x", DATA)
        server.put("bob/x", DATA[::-1])
        for user, data in (("alice", DATA), ("bob", DATA[::-1])):
            for password in ("one", "two"):
                version, read = self.read_all(server.url("x").replace("://", f"://{user}:{password}@"))
                self.assertEqual(read, data, user)
                self.assertNotIn(user, version)

    def test_unsettled_object_is_not_cached(self):
        def modified_a_second_ago(exchange):
            answer = faults.only_last_modified(exchange)
            answer.headers |= {"Last-Modified": http_date(1_000_000), "Date": http_date(1_000_001)}
            return answer
        self.server.rules = [Rule("/x$", modified_a_second_ago)]
        fetching = self.start(cache=self.cache)
        opened = fetching.open(self.url)
        self.assertFalse(opened.is_settled)
        self.assert_read(fetching, opened, 0, 2 * BLOCK)
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_damaged_block_is_fetched_again(self):
        fetching = self.start(cache=self.cache)
        self.assert_read(fetching, fetching.open(self.url), 0, len(DATA))
        file, = self.cache.iterdir()
        built.with_bit_flipped(file, file.stat().st_size - len(DATA) + 2 * BLOCK + 77)
        self.server.take_log()
        opened = fetching.open(self.url)
        self.assert_read(fetching, opened, 0, len(DATA))
        self.assertEqual([request.range for request in self.server.requests][1:], [f"bytes={2 * BLOCK}-{3 * BLOCK - 1}"])

    def test_killed_fetchers_leave_no_wrong_block(self):
        rng = random.Random(2)
        for _ in range(20 if built.is_thorough() else 6):
            writers = [self.start(cache=self.cache) for _ in range(2)]
            for writer in writers:
                opened = writer.open(self.url)
                for begin in rng.sample(range(0, len(DATA), BLOCK), 4):
                    writer.send(fetcher.READ, object=opened.object, begin=begin, size=2 * BLOCK)
            time.sleep(rng.random() * 0.01)
            for writer in writers:
                os.kill(writer.pid, signal.SIGKILL)
            reader = self.start(cache=self.cache)
            self.assert_read(reader, reader.open(self.url), 0, len(DATA))

    def test_client_cannot_put_other_bytes_into_the_cache(self):
        fetching = self.start(cache=self.cache)
        opened = fetching.open(self.url)
        for _ in range(20):
            request = fetching.send(fetcher.READ, object=opened.object, begin=BLOCK, size=4 * BLOCK)
            for _ in range(200):
                fetching.arena[0:4 * BLOCK:4096] = b"\xff" * (BLOCK // 1024)
            fetching.receive(request)
        honest = self.start(cache=self.cache)
        self.assert_read(honest, honest.open(self.url), 0, len(DATA))


if __name__ == "__main__":
    built.main()
