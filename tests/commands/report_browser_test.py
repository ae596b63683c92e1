#!/usr/bin/env python3
"""A browser shows the page of recordfs report in light and dark, and runs nothing that a file contains. Needs Chromium."""
import shutil
import struct
import subprocess
import zlib

import commands
import pages
import report_test
import tfrecords

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DARK, LIGHT = 0, 1  # blink's numbers


def picture(path):
    """Returns (width, height, color of the first pixel) of a PNG file of 8-bit RGB or RGBA."""
    png = path.read_bytes()
    at, pixels = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at: at + 8])
        content = png[at + 8: at + 8 + size]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", content[:8])
        if kind == b"IDAT":
            pixels += content
        at += 12 + size
    return width, height, tuple(zlib.decompress(pixels)[1:4])


class Browser(commands.Case):
    def browse(self, page, *options):
        return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,1600",
                               f"--user-data-dir={self.folder}/profile", *options, f"file://{page}"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=commands.PATIENCE, check=True).stdout.decode()

    def report(self, *paths):
        page = self.folder / "page.html"
        self.recordfs("report", *paths, "-o", page)
        return page

    def test_page_follows_the_color_scheme(self):
        for samples in ([report_test.MIXED], [report_test.MIXED, report_test.TEXT]):
            with self.subTest(samples):
                self.assert_follows_the_color_scheme(self.report(*map(commands.sample, samples)))

    def assert_follows_the_color_scheme(self, page):
        colors = {}
        for scheme in (DARK, LIGHT):
            shot = self.folder / f"{scheme}.png"
            self.browse(page, f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}")
            width, height, colors[scheme] = picture(shot)
            self.assertEqual((width, height), (1200, 1600))
        self.assertLess(max(colors[DARK]), 64)
        self.assertGreater(min(colors[LIGHT]), 192)

    def test_hostile_content_does_not_run(self):
        path = self.folder / "<img src=x onerror=alert(1)>.tfrecord"
        path.write_bytes(tfrecords.tfrecord([hostile.encode() for hostile in report_test.HOSTILE]))
        dom = self.browse(self.report(path), "--dump-dom")
        page = pages.Page(dom.encode())
        self.assertEqual(page.texts["title"][0], f"{path.name} – recordfs report")
        self.assertEqual(page.having("script") + page.having("img"), [])


if __name__ == "__main__":
    commands.main()
