#!/usr/bin/env python3
"""recordfs report: a page about a file, which shows the file's content as text and nothing else."""
import base64
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import struct

import commands
import pages
import tfrecords

TEXT = "riegeli/small/shop_log.riegeli"
MIXED = "proio/c08-mixed-compression.proio"
HOSTILE = ["</pre><script>document.title='owned'</script>", "\"><img src=x onerror=\"document.title='owned'\">", "<svg/onload=alert(1)>",
           "&lt;b&gt;", "]]><!--", "'; alert(1); '", "\u202etxt.exe", "\x1b[2J\x00"]


def images_of(width, height):
    """Returns the beginnings of images of this size, by their type."""
    return {"png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height),
            "jpeg": b"\xff\xd8\xff\xe0\0\x04xx\xff\xff\xc2\0\x11\x08" + struct.pack(">HH", height, width),
            "gif": b"GIF89a" + struct.pack("<HH", width, height),
            "webp": b"RIFF\x10\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)}


class Report(commands.Case):
    def page(self, *words, status=commands.GOOD):
        """Returns the parsed page of `recordfs report`, after checking what every page must have."""
        done = self.recordfs("report", *words)
        self.assertEqual(done.status, status, done.err)
        page = pages.Page(done.out)
        self.assertEqual(page.violations(len(done.out)), [], words)
        return page

    def titles(self, page):
        return [title for title in page.texts["h2"]]

    def test_page_has_a_summary_a_map_compression_sizes_and_records(self):
        page = self.page(commands.sample(TEXT))
        self.assertEqual(page.texts["h1"], ["shop_log.riegeli"])
        self.assertEqual(self.titles(page), ["Map of the file", "Compression along the file", "Record sizes", "Columns", "First records"])
        self.assertIn("None: 500 records cannot be decoded.", page.texts["p"])
        self.assertIn("Good: 500 records read, no damage found.", page.texts["p"])
        shown = dict(zip(page.texts["dt"], page.texts["dd"]))
        self.assertEqual((shown["Records"], shown["Chunks"], shown["codec"]), ("500", "6", "zstd"))
        records = self.good("head", "-n", "8", "--lines", commands.sample(TEXT)).decode().splitlines()
        self.assertEqual(page.texts["pre"], records)

    def test_page_goes_to_a_file(self):
        made = self.folder / "page.html"
        self.assertEqual(self.good("report", commands.sample(TEXT), "-o", made), b"")
        self.assertEqual(made.read_bytes(), self.good("report", commands.sample(TEXT)))

    def test_file_is_not_replaced_by_its_report(self):
        copied = self.copy(TEXT)
        before = copied.read_bytes()
        (self.folder / "link").symlink_to(copied)
        for name in (copied, self.folder / "link"):
            self.assert_ends(commands.WRONG_USE, "the report would replace the file", "report", copied, "-o", name)
        self.assertEqual(copied.read_bytes(), before)

    def test_terminal_gets_the_page_only_on_request(self):
        done = self.on_terminal("report", commands.sample(TEXT))
        self.assertEqual((done.status, done.out), (commands.WRONG_USE, b""))
        self.assertRegex(done.err, r"\Arecordfs: the page is HTML, [^\n]+\(try: -o PAGE\)\n\Z")
        self.assertIn(b"</html>", self.on_terminal("report", "-o", "-", commands.sample(TEXT)).out)

    def test_output_that_cannot_be_written_is_reported(self):
        damaged = self.copy(TEXT)
        damaged.write_bytes(damaged.read_bytes()[:-100])
        for words in (["report", damaged], ["index", commands.sample(TEXT)]):  # before the damage is found
            output = self.folder / "none/page.rfsindex"
            done = self.recordfs(*words, "-o", output)
            self.assertEqual((done.status, done.err),
                             (commands.PARTLY_DONE, f"recordfs: {output}: there is no directory {self.folder}/none/\n"))

    def test_type_that_no_record_has_is_reported(self):
        done = self.recordfs("report", commands.sample(TEXT), "--type", "none.X")
        self.assertEqual(done.status, commands.PARTLY_DONE, done.err)
        self.assertIn("columns: 500 records cannot be decoded", done.err)

    def test_output_that_cannot_be_completed_stays_as_it_was(self):
        page = self.folder / "page.html"
        page.write_text("before")
        page.chmod(0o640)
        link = self.folder / "link.html"
        link.symlink_to(page.name)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        done = self.recordfs("report", commands.sample(TEXT), "-f", "-o", link, preexec_fn=limit, restore_signals=False)
        self.assertEqual((done.status, done.err), (commands.PARTLY_DONE, f"recordfs: {link}: File too large\n"))
        self.assertEqual(page.read_text(), "before")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["caches", "link.html", "page.html"])
        self.assert_ends(commands.PARTLY_DONE, r"link.html: File exists \(-f replaces it\)", "report", commands.sample(TEXT), "-o", link)
        self.assertEqual(page.read_text(), "before")
        for words in ([], ["-f"], []):  # a report replaces a report
            status = commands.GOOD if words or page.read_text() != "before" else commands.PARTLY_DONE
            self.assertEqual(self.recordfs("report", commands.sample(TEXT), "-o", link, *words).status, status)
        self.assertIn("</html>", page.read_text())
        self.assertEqual((link.is_symlink(), page.stat().st_mode & 0o777), (True, 0o640))

    def test_output_keeps_its_owner_and_may_be_a_link_to_nothing(self):
        link = self.folder / "link.html"
        link.symlink_to("page.html")
        self.good("report", commands.sample(TEXT), "-o", link)
        page = self.folder / "page.html"
        self.assertTrue(link.is_symlink())
        self.assertIn("</html>", page.read_text())
        if os.geteuid() == 0:
            os.chown(page, 65534, 65534)
            self.good("report", commands.sample(TEXT), "-o", page)
            self.assertEqual((page.stat().st_uid, page.stat().st_gid), (65534, 65534))

    def test_output_may_be_a_pipe(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.good("report", commands.sample(TEXT), "-o", pipe)
        self.assertTrue(os.read(reader, 100).startswith(b"<!"))

    def test_file_that_is_not_a_container_has_no_report(self):
        made = self.folder / "page.html"
        self.assert_ends(commands.CANNOT_OPEN, "cannot open", "report", self.folder / "none", "-o", made)
        self.assertFalse(made.exists())

    def test_chunks_have_the_color_of_their_codec(self):
        page = self.page(commands.sample(MIXED), status=commands.PARTLY_DONE)
        self.assertEqual({box["class"] for box in page.having("rect") if box["class"].startswith("c")}, {"c1", "c2", "c3"})
        legend = page.texts["ul"][0]
        for name in ("not compressed", "gzip", "lz4"):
            self.assertIn(name, legend)
        rows = [row for row in page.texts["tr"] if "gzip" in row]
        self.assertEqual(len(rows), 1)

    def test_parts_of_records_are_counted_by_name_and_type(self):
        page = self.page(commands.sample(MIXED), status=commands.PARTLY_DONE)
        self.assertIn("Parts of records", self.titles(page))
        self.assertTrue([row for row in page.texts["tr"] if re.fullmatch(r"entriesproio\.model\.eic\.Particle2221", row)])
        self.assertTrue([row for row in page.texts["tr"] if row.startswith("tags/Tracks")])

    def test_changes_of_keys_are_counted_by_kind(self):
        page = self.page(commands.sample("leveldb_table/leveldb-deletes.ldb"))
        self.assertIn("Changes of keys", self.titles(page))
        self.assertTrue([row for row in page.texts["tr"] if row.startswith("key deleted")])

    def columns_page(self, records, *words, status=commands.GOOD):
        path = self.folder / "columns.tfrecord"
        path.write_bytes(tfrecords.tfrecord([tfrecords.example(record) for record in records]))
        return self.page(path, *words, status=status)

    def test_columns_have_statistics_and_charts_of_repeated_values(self):
        page = self.columns_page([{"label": [number % 20], "id": [number], "split": [b"val" if number % 4 else b"train"]} for number in range(100)])
        self.assertIn("Columns", self.titles(page))
        self.assertEqual(page.texts["h3"], ["label", "split"])
        self.assertIn("idint640100099", [row.replace(" ", "") for row in page.texts["tr"]])
        bars = [title for title in page.texts["title"] if title in ("train: 25", "val: 75", "0: 5")]
        self.assertEqual(sorted(bars), ["0: 5", "train: 25", "val: 75"])
        self.assertIn("4 other values are less frequent.", page.texts["p"])

    def test_record_that_exceeds_a_limit_is_reported(self):
        done = self.recordfs("report", commands.corpus() / "avro" / "exponential.avro")
        self.assertEqual((done.status, done.out[-8:]), (commands.PARTLY_DONE, b"</html>\n"))
        self.assertIn("byte 0: the record has too many values\n", done.err)

    def test_columns_that_cannot_be_counted_end_as_in_info(self):
        wide = self.folder / "wide.tfrecord"
        wide.write_bytes(tfrecords.tfrecord([tfrecords.example({"a%d" % i: [i] for i in range(9000)})]))
        tags = self.folder / "events.out.tfevents.1.host"
        summary = tfrecords.field(1, tfrecords.field(1, b"\xff") + bytes([0x15]) + bytes(4)) + tfrecords.field(1, tfrecords.field(1, b"b") + bytes([0x15]) + bytes(4))
        tags.write_bytes(tfrecords.tfrecord([tfrecords.field(3, b"brain.Event:2"), tfrecords.field(5, summary)]))
        for path, message in ((wide, "more than 8192 columns"), (tags, "1 record cannot be decoded, so they have no columns; .* a tag is not UTF-8")):
            self.assert_ends(commands.PARTLY_DONE, message, "info", "--columns", path)
            self.assert_ends(commands.PARTLY_DONE, message, "report", path, "-o", self.folder / "page.html")
            self.assertIn("</html>", (self.folder / "page.html").read_text())

    def test_condition_selects_the_records_that_are_described(self):
        records = [{"label": [number % 7], "n": [number]} for number in range(100)]
        page = self.columns_page(records, "--where", "label = 3")
        self.assertIn("All below about records is that of the 14 records that the condition selects.", page.texts["p"])
        self.assertIn("Good: 100 records read, no damage found.", page.texts["p"])
        self.assertEqual(len(page.texts["pre"]), 8)
        self.assertTrue(all(re.search(r"label.*3", text, re.S) for text in page.texts["pre"]))
        self.columns_page(records, "--where", "labl = 3", status=commands.PARTLY_DONE)

    def test_images_of_the_first_records_are_shown(self):
        images = images_of(640, 480)
        records = [{"image": [content], "none": [b"<svg onload=alert(1)>"], "late": [b"GIF8"]} for content in images.values()]
        records.append({"image": [images["png"] + b"x" * 100000]})
        page = self.columns_page(records)
        self.assertEqual([found["src"] for found in page.having("img")],
                         [f"data:image/{kind};base64,{base64.b64encode(content).decode()}" for kind, content in images.items()])
        self.assertEqual([found["alt"] for found in page.having("img")], [f"Image of record {number}" for number in range(4)])
        self.assertIn("1 more image of these records: too large for this page, or damaged.", page.texts["p"])
        self.assertEqual(page.having("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"],
                         "default-src 'none'; img-src data:; style-src 'unsafe-inline'")
        for number, large in enumerate((images_of(5000, 5000), images_of(0, 10), {name: image[:9 if name == "gif" else 12] for name, image in images.items()})):
            page = self.columns_page([{name: [image] for name, image in large.items()}])
            self.assertEqual(page.having("img"), [], number)
            self.assertIn("4 more images of these records: too large for this page, or damaged.", page.texts["p"])
        many = self.columns_page([{f"image{name}": [images["jpeg"] + b"\0" * 40000] for name in range(9)}] * 9)
        self.assertEqual(len(many.having("img")), 4)

    def test_hostile_columns_and_values_are_only_text(self):
        record = {hostile.replace("\x00", "") * 9: [hostile.encode(), images_of(3, 3)["jpeg"] + hostile.encode(), b"x" * 500] for hostile in HOSTILE}
        page = self.columns_page([record] * 3)
        self.assertEqual(len(page.texts["h3"]), len(HOSTILE))
        self.assertEqual({image["alt"] for image in page.having("img")}, {"Image of record 0", "Image of record 1"})
        self.assertNotIn("\x1b", "".join(page.texts["body"]))

    def test_damage_is_marked_and_listed(self):
        damaged = commands.with_bit_flipped(self.copy("riegeli/simple_zstd9.riegeli"), 17000)
        page = self.page(damaged, status=commands.DAMAGE)
        self.assertRegex(" ".join(page.texts["p"]), r"Damaged: 1 region, \d+ records lost\.")
        self.assertEqual(len(page.having("rect", **{"class": "bad"})), 1)
        self.assertIn("Damage", self.titles(page))
        listed = self.recordfs("verify", damaged).out.decode()
        self.assertIn(re.search(r": ([^:;]+); \d+ records lost", listed).group(1), " ".join(page.texts["td"]))

    def test_hostile_names_and_records_are_only_text(self):
        for number, hostile in enumerate(HOSTILE):
            name = hostile.replace("/", "_").replace("\x00", "")
            path = self.folder / f"{number}{name}.tfrecord"
            path.write_bytes(tfrecords.tfrecord([hostile.encode(), b"\xff" + hostile.encode()]))
            with self.subTest(hostile):
                page = self.page(path)
                self.assertEqual(page.having("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"],
                                 "default-src 'none'; style-src 'unsafe-inline'")
                if hostile.isprintable() or "\u202e" in hostile:
                    self.assertEqual(page.texts["h1"], [path.name])
                    self.assertEqual(page.texts["pre"][0], hostile)
                self.assertNotIn("\x1b", "".join(page.texts["body"]))

    def write_small(self, count):
        """Writes files of two records each. Returns their paths."""
        paths = [self.folder / f"{number:05}.tfrecord" for number in range(count)]
        for path in paths:
            path.write_bytes(tfrecords.tfrecord([b"one", b"second"]))
        return paths

    def test_several_files_have_a_row_each_and_sums(self):
        files = [self.copy(TEXT), self.copy(MIXED)]
        page = self.page(*files, status=commands.PARTLY_DONE)
        self.assertEqual(page.texts["h1"], ["2 files"])
        self.assertEqual(self.titles(page), ["Files", "Record sizes", "Columns", "Parts of records"])
        counts = [json.loads(self.good("info", "--json", "--scan", file)) for file in files]
        shown = dict(zip(page.texts["dt"], page.texts["dd"]))
        self.assertEqual(shown["Files"], "2")
        self.assertEqual(shown["Records"], str(sum(one["records"] for one in counts)))
        self.assertTrue(shown["Size of the files"].endswith(f"{sum(one['size'] for one in counts):,} bytes"))
        for file, one in zip(files, counts):
            row = next(row for row in page.texts["tr"] if row.startswith(str(file)))
            self.assertTrue(row.startswith(f"{file}{one['format']}{one['records']}"), row)
            self.assertTrue(row.endswith("good"), row)
        self.assertIn(f"Good: {shown['Records']} records in 2 files read, no damage found. "
                      "Not checked: 1 file with records that have no checksums.", page.texts["p"])

    def test_page_of_several_files_says_how_many_are_not_checked(self):
        avro = [commands.sample(f"avro/{name}.avro") for name in ("nulls", "users-null")]
        page = self.page(*avro, status=commands.PARTLY_DONE)
        state, = (text for text in page.texts["p"] if text.startswith("Good: "))
        self.assertTrue(state.endswith(" Not checked: 2 files with records that have no checksums."), state)

    def test_data_set_is_named_and_has_its_files(self):
        self.write_small(3)
        for words, name in (([f"{self.folder}/*.tfrecord"], f"{self.folder}/*.tfrecord"), ([self.folder], str(self.folder))):
            page = self.page(*words)
            self.assertEqual(page.texts["h1"], [name])
            self.assertEqual(len([row for row in page.texts["tr"] if row.endswith("good")]), 3)
        manifest = self.folder / "list"
        manifest.write_text("00000.tfrecord\n00002.tfrecord\n", encoding="utf-8")
        self.assertEqual(self.page("--manifest", manifest).texts["h1"], [str(manifest)])

    def test_one_file_of_a_data_set_has_the_page_of_a_file(self):
        path = self.write_small(1)[0]
        self.assertEqual(self.good("report", f"{self.folder}/*.tfrecord"), self.good("report", path))

    def test_missing_shard_has_a_row(self):
        for number in (0, 2):
            (self.folder / f"train-0000{number}-of-00003").write_bytes(tfrecords.tfrecord([b"x"]))
        done = self.recordfs("report", f"{self.folder}/train@3")
        self.assertEqual(done.status, commands.DAMAGE)
        self.assertIn("train-00001-of-00003", done.err)
        rows = [row for row in pages.Page(done.out).texts["tr"] if "train-00001-of-00003" in row]
        self.assertEqual(len(rows), 2)  # of files, and of damage
        self.assertTrue(all("missing" in row for row in rows))

    def test_file_that_cannot_be_read_has_a_row_among_others(self):
        good = self.write_small(1)[0]
        other = self.folder / "text"
        other.write_bytes(b"no container")
        damaged = commands.with_bit_flipped(self.copy("riegeli/simple_zstd9.riegeli"), 17000)
        done = self.recordfs("report", other, good, damaged)
        self.assertEqual(done.status, self.recordfs("verify", other, good, damaged).status)
        self.assertRegex(done.err, r"\Arecordfs: [^\n]*text: not a record container[^\n]*\n\Z")
        page = pages.Page(done.out)
        self.assertEqual(page.violations(len(done.out)), [])
        self.assertRegex(" ".join(page.texts["p"]), r"Damaged: 1 region, \d+ records lost in 1 file\. Cannot be read: 1 file\.")
        self.assertTrue([row for row in page.texts["tr"] if row.startswith(str(other)) and "not a record container" in row])
        self.assertTrue([row for row in page.texts["tr"] if row.startswith(str(damaged)) and row.endswith("damaged: 1 region")])

    def test_files_of_which_none_can_be_read_have_no_report(self):
        made = self.folder / "page.html"
        done = self.recordfs("report", self.folder / "a", self.folder / "b", "-o", made)
        self.assertEqual((done.status, len(done.err.splitlines())), (commands.CANNOT_OPEN, 2))
        self.assertFalse(made.exists())

    def test_no_file_is_replaced_by_the_report_of_several(self):
        paths = self.write_small(3)
        before = paths[1].read_bytes()
        self.assert_ends(commands.WRONG_USE, "the report would replace the file", "report", *paths, "-o", paths[1])
        self.assertEqual(paths[1].read_bytes(), before)

    def test_many_files_give_a_small_page_with_their_number(self):
        folder = self.folder / ("x" * 200)
        folder.mkdir()
        content = tfrecords.tfrecord([b"one", b"second"])
        for number in range(1500):
            (folder / (f"{number:05}" + '"&' * 100)).write_bytes(content)
        page = self.page(folder)
        self.assertEqual(len([row for row in page.texts["tr"] if row.endswith("good")]), 200)
        self.assertIn("These are the first 200 of 1,500 files. The sums are of all.", page.texts["p"])
        self.assertEqual(dict(zip(page.texts["dt"], page.texts["dd"]))["Records"], "3,000")

    def test_hostile_names_of_several_files_are_only_text(self):
        names = [hostile.replace("/", "_").replace("\x00", "") + ".tfrecord" for hostile in HOSTILE]
        for name in names:
            (self.folder / name).write_bytes(tfrecords.tfrecord([b"x"]))
        page = self.page(self.folder)
        self.assertEqual(len([row for row in page.texts["tr"] if row.endswith("good")]), len(names))
        self.assertNotIn("\x1b", "".join(page.texts["body"]))

    def test_every_sample_has_a_valid_page(self):
        found_in = self.about_samples("verify")
        for path in commands.containers():
            done = self.recordfs("report", path)
            with self.subTest(sample=path.name):
                if done.status == commands.CANNOT_OPEN:
                    self.assertEqual(done.out, b"")
                else:
                    self.assertEqual(pages.Page(done.out).violations(len(done.out)), [])
                    expected = commands.status_of(found_in[path])
                    is_limited = re.search("the record (has too many values|nests too deeply)", done.err)
                    is_partial = "cannot be decoded, so they have no columns" in done.err
                    if is_partial:
                        self.assertIn("cannot be decoded, so they have no columns", self.recordfs("info", "--columns", path).err)
                    self.assertEqual(done.status, expected or (commands.PARTLY_DONE if is_limited or is_partial else commands.GOOD))

    def test_report_of_a_database_has_the_findings_of_verify(self):
        database = self.folder / "database"
        shutil.copytree(commands.sample("database/leveldb-levels"), database)
        self.page(database)
        (database / "000007.ldb").unlink()
        rows = " ".join(self.page(database, status=commands.DAMAGE).texts["tr"])
        for text in ("000007.ldb", "the MANIFEST names this file, and it does not exist", "keys may have a newer value"):
            self.assertIn(text, rows)
        (database / "000005.ldb").write_bytes(b"")
        self.assertIn("0 bytes, and 1644 in the MANIFEST", " ".join(self.page(database, status=commands.DAMAGE).texts["tr"]))

    def test_swapped_tables_of_a_database_are_damaged(self):
        database = self.folder / "database"
        shutil.copytree(commands.sample("database/rocksdb11-separate-values"), database)
        first, second = (database / f"{number:06}.sst" for number in (9, 11))
        (bytes_of_first, bytes_of_second) = (first.read_bytes(), second.read_bytes())
        self.assertEqual(len(bytes_of_first), len(bytes_of_second))
        first.write_bytes(bytes_of_second)
        second.write_bytes(bytes_of_first)
        rows = " ".join(self.page(database, status=commands.DAMAGE).texts["tr"])
        for command in ("verify", "keys"):
            done = self.recordfs(command, database)
            self.assertEqual(done.status, commands.DAMAGE)
            for table in (first, second):
                self.assertRegex(done.err + done.out.decode(), rf"{table.name}: .*the MANIFEST names, which is in 0000")
        self.assertIn("the MANIFEST names, which is in 0000", rows)

    def test_table_that_recordfs_cannot_read_is_in_the_report_of_its_database(self):
        page = self.page(commands.sample("database/rocksdb7-plain-table"), status=commands.PARTLY_DONE)
        self.assertIn("a plain table of RocksDB", " ".join(page.texts["tr"]))

    def test_many_records_and_codecs_give_a_small_page(self):
        parts = commands.sample(MIXED).read_bytes()
        path = self.folder / "many.proio"
        path.write_bytes(parts * 400)
        self.page(path, status=commands.PARTLY_DONE)

    def test_many_long_names_that_need_escaping_give_a_small_page(self):
        names = [f'{number:05}' + '"' * 500 for number in range(3000)]
        path = self.folder / "names.tfrecord"
        path.write_bytes(tfrecords.tfrecord([tfrecords.example({name: [b"x"] for name in names})] * 10))
        page = self.page(path)
        self.assertEqual(len([row for row in page.texts["tr"] if '"""' in row]), 60 + 100)  # columns, and parts
        self.assertIn("Only the 100 most frequent are listed.", page.texts["p"])

    def test_records_are_in_bins_by_size(self):
        sizes = [1] * 5 + [100] * 3 + [1000000]
        path = self.folder / "sizes.tfrecord"
        path.write_bytes(tfrecords.tfrecord([random.Random(size).randbytes(size) for size in sizes]))
        page = self.page(path)
        rows = [row for row in page.texts["tr"] if "%" in row]
        self.assertEqual(rows, ["1 byte555.6 %", "64 to 127 bytes333.3 %", "524,288 to 1,048,575 bytes111.1 %"])
        self.assertEqual(len(page.having("rect", **{"class": "bar"})), 3)


if __name__ == "__main__":
    commands.main()
