#!/usr/bin/env python3
"""The comparison with a record, the page of results, and the summaries of system calls. Measures nothing."""
import json
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

import calls
import checking
import results
import settings
import table
from comparing import LIMITS, PEERS, SCALE, Line, Row

TIME = Line("time", "reading", "plain reader", 1.1)
SPEED = Line("speed", "streaming", "one thread", 0.9, faster=True)
GREP = Line("peers-grep", "`grep -r`, cold mount", "none")
FIND = Line("records-find", "`find records`", "none")
RUN = settings.Settings(Path(), Path(), 3, settings.AMOUNTS[settings.SMOKE])
OTHER_RUN = settings.Settings(Path(), Path(), 3, settings.AMOUNTS[settings.QUICK])


def row(line, ratio, case="riegeli", **options):
    return Row(line, case, ratio * 100, 100, "ms", **options)


def document(*rows, run=RUN):
    lines = dict.fromkeys(one.line for one in rows)
    taken = [(line, [one for one in rows if one.line is line], None) for line in lines]
    return table.document({"processor": "2 x Xeon"}, run, taken)


def recorded(*rows, run=RUN):
    record = json.loads(results.as_json({LIMITS: document(*rows, run=run)}))
    return checking.recorded_rows(record, LIMITS, table.amounts_of(RUN))


class Comparison(unittest.TestCase):
    def failures(self, now, before):
        return [finding.row for finding in checking.findings(now, before) if finding.fails]

    def test_time_within_ten_percent_passes(self):
        self.assertEqual(checking.findings([row(TIME, 1.09)], recorded(row(TIME, 1.0))), [])

    def test_time_more_than_ten_percent_worse_fails_within_the_bound(self):
        slower = row(TIME, 1.05)
        self.assertEqual(self.failures([slower], recorded(row(TIME, 0.9))), [slower])

    def test_speed_more_than_ten_percent_lower_fails(self):
        slower = row(SPEED, 1.0)
        self.assertEqual(self.failures([slower], recorded(row(SPEED, 1.2))), [slower])

    def test_better_row_passes(self):
        before = recorded(row(TIME, 1.0), row(SPEED, 1.0))
        self.assertEqual(checking.findings([row(TIME, 0.5), row(SPEED, 2.0)], before), [])

    def test_bound_that_was_met_fails_when_exceeded(self):
        beyond = row(TIME, 1.12)
        self.assertEqual(self.failures([beyond], recorded(row(TIME, 1.08))), [beyond])

    def test_bound_that_was_missed_before_passes(self):
        self.assertEqual(checking.findings([row(TIME, 1.55)], recorded(row(TIME, 1.5))), [])

    def test_missed_bound_that_gets_worse_fails(self):
        self.assertEqual(len(self.failures([row(TIME, 1.7)], recorded(row(TIME, 1.5)))), 1)

    def test_row_without_a_bound_is_compared(self):
        before = recorded(row(TIME, 2.0, bounded=False))
        self.assertEqual(checking.findings([row(TIME, 2.1, bounded=False)], before), [])
        self.assertEqual(len(self.failures([row(TIME, 2.3, bounded=False)], before)), 1)

    def test_row_without_a_yardstick_is_not_compared(self):
        self.assertEqual(checking.findings([Row(GREP, "squashfuse", 9, None, "s")], {}), [])

    def test_new_row_is_reported_and_passes(self):
        found = checking.findings([row(TIME, 1.0, case="new")], recorded(row(TIME, 1.0)))
        self.assertEqual([(finding.fails, finding.text) for finding in found], [(False, "ratio 1.00, not in the record")])

    def test_new_row_beyond_its_bound_fails(self):
        self.assertEqual(len(self.failures([row(TIME, 1.2)], {})), 1)

    def test_missing_row_of_a_measured_line_is_reported(self):
        before = recorded(row(TIME, 1.0), row(TIME, 1.0, case="gone"), row(SPEED, 1.0))
        self.assertEqual(checking.not_measured([row(TIME, 1.0)], before), [("time", "gone")])

    def test_record_of_other_amounts_is_not_used(self):
        self.assertEqual(recorded(row(TIME, 0.1), run=OTHER_RUN), {})

    def test_better_of_two_measurements_counts(self):
        for line, best in ((TIME, 1.0), (SPEED, 1.3)):
            self.assertEqual(checking.better(row(line, 1.0), row(line, 1.3)).ratio, best)
            self.assertEqual(checking.better(row(line, 1.3), row(line, 1.0)).ratio, best)
        self.assertEqual(checking.better(row(TIME, 1.0), None).ratio, 1.0)

    def test_record_without_a_newer_amount_is_used(self):
        record = json.loads(results.as_json({LIMITS: document(row(TIME, 1.0))}))
        del record[LIMITS]["amounts"]["whole"]
        self.assertEqual(len(checking.recorded_rows(record, LIMITS, table.amounts_of(RUN))), 1)

    def test_report_lists_failures_first(self):
        before = recorded(row(TIME, 1.0))
        now = [row(SPEED, 1.0), row(TIME, 1.2)]
        text = checking.report(checking.findings(now, before), [("time", "gone")], *checking.compared(now, before))
        self.assertEqual(text.splitlines(), [
            "compared with the record: 1 of 2 rows; 1 failures",
            "FAILED time: riegeli: ratio 1.20, recorded 1.00: more than 10% worse",
            "speed: riegeli: ratio 1.00, not in the record",
            "time: gone: recorded, but not measured"])


BLOCKS = [name for names in results.BLOCKS.values() for name in names]
PAGE = "# Results\n\nBy hand.\n" + "".join(f"<!-- begin {name} -->\nold {name}\n<!-- end {name} -->\nBy hand.\n"
                                           for name in BLOCKS)


class PageOfResults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "RESULTS.md"
        self.path.write_text(PAGE, encoding="utf-8")

    def written(self, **documents):
        results.Page(self.path).write(documents)
        return self.path.read_text(encoding="utf-8")

    def test_measured_part_is_replaced_and_the_rest_stays(self):
        text = self.written(**{LIMITS: document(row(TIME, 1.05), row(TIME, 1.2, case="proio"))})
        self.assertIn("| reading | plain reader | 2 | 1.05 to 1.20 | at most 1.1 | **MISSED** by 1 of 2: proio 1.20 |", text)
        self.assertIn("| riegeli | 105 ms | 100 ms | 1.05 | at most 1.1 | met |", text)
        self.assertNotIn("old summary", text)
        self.assertIn("old peers", text)
        self.assertEqual(text.count("By hand."), PAGE.count("By hand."))

    def test_record_keeps_parts_that_were_not_measured(self):
        self.written(**{LIMITS: document(row(TIME, 1.05))})
        self.written(**{SCALE: document(Row(FIND, "tfrecord, 500 records", 2, None, "s"))})
        record = json.loads(self.path.with_name("results.json").read_text(encoding="utf-8"))
        self.assertEqual(set(record), {LIMITS, SCALE})

    def test_peers_have_a_table_and_a_chart(self):
        slow = Row(GREP, "archivemount, tar & more", 60, None, "s", {"more than": "60 s"})
        text = self.written(**{PEERS: document(Row(GREP, "recordfs, TFRecord", 0.5, None, "s"), slow)})
        self.assertIn("| recordfs, TFRecord | 0.5 s |\n| archivemount, tar & more | > 60 s |", text)
        svg = self.path.with_name("results.svg").read_text(encoding="utf-8")
        shown = [node.firstChild.data for node in xml.dom.minidom.parseString(svg).getElementsByTagName("text")]
        self.assertLess({"archivemount, tar & more", "500 ms", "> 60 s", "grep -r, cold mount"}, set(shown))

    def test_page_without_a_block_is_refused(self):
        self.path.write_text(PAGE.replace("<!-- end scale -->", ""), encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "no block 'scale'"):
            results.Page(self.path)

    def test_page_of_this_repository_has_every_block(self):
        results.Page(Path(__file__).resolve().parents[1] / "RESULTS.md")


STRACE = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 26.81    0.002923           3       839       317 openat
 16.15    0.001761           3       500           write
------ ----------- ----------- --------- --------- ----------------
100.00    0.010903           2      1339       317 total
"""


class SystemCalls(unittest.TestCase):
    def test_summary_of_strace_is_read_without_the_total(self):
        self.assertEqual(calls.of_strace(STRACE), [("openat", 839), ("write", 500)])


if __name__ == "__main__":
    unittest.main()
