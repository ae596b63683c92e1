"""Counts the records and their bytes, each rank one part: mpiexec -n 4 python3 mpi.py FILE..."""
import subprocess
import sys

from mpi4py import MPI


def records(split, files):
    """Yields the records of a split."""
    with subprocess.Popen(["recordfs", "cat", "--delimited", "--split", split, *files], stdout=subprocess.PIPE) as cat:
        while first := cat.stdout.read(1):
            size, shift = first[0] & 127, 7
            while first[0] >= 128:
                first = cat.stdout.read(1)
                size, shift = size | (first[0] & 127) << shift, shift + 7
            yield cat.stdout.read(size)
    if cat.returncode != 0:
        sys.exit(f"recordfs cat --split {split} failed: exit status {cat.returncode}")


def main():
    world = MPI.COMM_WORLD
    count = size = 0
    try:
        for record in records(f"{world.rank}/{world.size}", sys.argv[1:]):
            count, size = count + 1, size + len(record)
    except SystemExit as failed:
        print(failed, file=sys.stderr, flush=True)
        world.Abort(1)
    count, size = world.reduce(count), world.reduce(size)
    if world.rank == 0:
        print(f"{count} records, {size} bytes")


main()
