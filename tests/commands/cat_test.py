#!/usr/bin/env python3
"""recordfs cat: the records' bytes, one behind the other."""
import re

import commands

TEXT = "riegeli/simple_zstd9.riegeli"


class Whole(commands.Case):
    def test_all_records_are_written_in_order(self):
        out = self.good("cat", commands.sample(TEXT)).decode()
        self.assertEqual([int(number) for number in re.findall(r"\d{6}", out)], list(range(500)))


if __name__ == "__main__":
    commands.main()
