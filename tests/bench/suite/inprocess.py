"""Runs some benchmarks of bench_inprocess and parses the results."""
import json
import statistics
from pathlib import Path

from comparing import Skipped
from processes import ONE_PROCESSOR, output_of

SECONDS_A_BENCHMARK = 0.3


def measured(bench, names, runs, processors=ONE_PROCESSOR):
    """{name: {"seconds": per iteration, "bytes": per second, "records": per second}}: medians of `runs` alternating
    runs.

    A name is WHAT/FORM or WHAT/FORM.KIND, as in inprocess/benchmarks.h."""
    if not Path(bench.settings.program("bench_inprocess")).exists():
        raise Skipped("bench_inprocess is not built: RECORDFS_BENCH is off")
    subjects = sorted({name.partition("/")[2] for name in names})
    answer = json.loads(output_of([
        *processors, bench.settings.program("bench_inprocess"), *(f"{one}={_file(bench, one)}" for one in subjects),
        f"--benchmark_filter=^({'|'.join(names).replace('.', '[.]')})/", f"--benchmark_repetitions={runs}",
        "--benchmark_enable_random_interleaving=true", f"--benchmark_min_time={SECONDS_A_BENCHMARK}",
        "--benchmark_format=json"]))
    return {name: _medians(name, answer["benchmarks"]) for name in names}


def _file(bench, subject):
    form, _, kind = subject.partition(".")
    return bench.containers.file(form, bench.amounts.lines, kind or "lines")


def _medians(name, benchmarks):
    runs = [one for one in benchmarks if one["run_type"] == "iteration" and one["name"].startswith(f"{name}/")]
    for one in runs:
        if one.get("error_occurred"):
            raise RuntimeError(f"{name}: {one['error_message']}")
    nanoseconds = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[runs[0]["time_unit"]]
    return {"seconds": 1e-9 * nanoseconds * statistics.median(one["real_time"] for one in runs),
            "bytes": statistics.median(one.get("bytes_per_second", 0) for one in runs),
            "records": statistics.median(one.get("items_per_second", 0) for one in runs)}
