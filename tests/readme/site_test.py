#!/usr/bin/env python3
"""scripts/site makes the same complete pages each time, and finds broken links."""
import filecmp
import importlib.machinery
import importlib.util
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import built


def load_script():
    loader = importlib.machinery.SourceFileLoader("site_script", str(built.place.checkout / "scripts/site"))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader("site_script", loader))
    loader.exec_module(script)
    return script


class Temporary(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Site(Temporary):
    def make(self, name):
        command = [sys.executable, "-B", built.place.checkout / "scripts/site", "--build", built.place.programs]
        done = subprocess.run([*command, "--output", self.folder / name], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode == 77:
            self.skipTest(done.stdout.strip())
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        return self.folder / name

    def test_pages_are_complete_and_the_same_each_time(self):
        one, other = self.make("one"), self.make("other")
        files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
        self.assertEqual(files, sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file()))
        self.assertEqual(filecmp.cmpfiles(one, other, files, shallow=False)[1:], ([], []))
        for page, content in (("index.html", '<h2 id="formats">Formats</h2>'),
                              ("core/formats/riegeli/FORMAT.html", "<h1 "),
                              ("tests/bench/RESULTS.html", '<img src="results.svg"'),
                              ("man/recordfs.1.html", 'id="SHELLS_AND_DESKTOPS"'),
                              ("man/mount.recordfs.8.html", 'href="recordfs.1.html"'),
                              ("man/recordfs.3.html", "recordfs_records_next"),
                              ("tour.html", "bytes 83928 to 90964: damage"), ("tour.html", "order 4706 paid\n"),
                              ("tour.html", '<span class="prompt">$</span> <b>cat mnt/records/42</b>'),
                              ("report.html", "shop_log.riegeli"), ("LICENSE.html", "Apache License")):
            self.assertIn(content, (one / page).read_text(encoding="utf-8"), page)
        listed = set(re.findall(r'<td><a href="([^"]*)">', (one / "pages.html").read_text(encoding="utf-8")))
        markdown = {str(path) for path in files if path.suffix == ".html"} - {"pages.html", "LICENSE.html"}
        self.assertEqual({page for page in markdown if not re.search(r"\.\w+\.html$", page)} - listed, set())


class Problems(Temporary):
    def problems_of(self, body):
        (self.folder / "other.html").write_text('<h1 id="here">x</h1>', encoding="utf-8")
        (self.folder / "page.html").write_text(f'<h1 id="top">x</h1>{body}', encoding="utf-8")
        return load_script().problems(self.folder)

    def test_good_links_are_accepted(self):
        links = ("other.html#here", "#top", "https://example.org/", "other.html")
        body = "".join(f'<a href="{link}"></a>' for link in links) + '<img src="data:image/png;base64,AA==">'
        self.assertEqual(self.problems_of(body), [])

    def test_links_that_lead_nowhere_are_found(self):
        for body, problem in (('<a href="missing.html"></a>', "no file missing.html"),
                              ('<a href="other.html#there"></a>', "no anchor other.html#there"),
                              ('<a href="#here"></a>', "no anchor #here"), ('<a href="../x.html"></a>', "no file ../x.html"),
                              ('<img src="missing.svg">', "no file missing.svg"),
                              ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
                              ('<link rel="stylesheet" href="//example.org/x.css">', "loads //example.org/x.css")):
            self.assertEqual(self.problems_of(body), [f"page.html: {problem}"], body)

    def test_markdown_links_that_lead_nowhere_are_refused(self):
        script = load_script()
        with self.assertRaisesRegex(script.Failure, "README.md: missing.md leads nowhere"):
            script.Links(["README.md"]).translate("README.md", '<a href="missing.md">')
        for link, target in (("../bench/RESULTS.md#x", "../bench/RESULTS.html#x"), ("../bench", "../bench/index.html")):
            links = script.Links(["tests/bench/RESULTS.md", "tests/bench/README.md"])
            self.assertEqual(links.translate("tests/readme/README.md", f'<a href="{link}">'), f'<a href="{target}">')


if __name__ == "__main__":
    built.main()
