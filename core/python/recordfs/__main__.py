"""``python -m recordfs info FILE...`` prints what is known of containers, and of data sets."""
import argparse
import json
import sys

from . import Error, open


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m recordfs", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="print Dataset.info as JSON")
    info.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    status = 0
    for name in options.files:
        try:
            print(json.dumps(open(name).info, indent=2))
        except (Error, OSError) as failed:
            print(f"recordfs: {failed}", file=sys.stderr)
            status = 2
    return status


if __name__ == "__main__":
    sys.exit(main())
