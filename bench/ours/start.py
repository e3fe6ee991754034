"""Run in a fresh process by a suite: from nothing to the first finished iteration, timed.

Prints one JSON object. Its arguments are FILE[:FUNCTION] and a JSON object of extents.
"""

import json
import sys
import time
from pathlib import Path

KIB = 1024


def peak_rss_kib() -> int:
    """Return the peak of this program alone: ``ru_maxrss`` would remember the parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(row for row in status.splitlines() if row.startswith("VmHWM:"))
    return int(line.split()[1])


def main(place: str, extents: dict[str, int]) -> dict[str, float]:
    start = time.perf_counter()
    from ostinato.cli.load import load_experiment

    imported = time.perf_counter()
    experiment = load_experiment(place, [])
    traced = time.perf_counter()
    compiled = experiment.program.compile()
    compiled_at = time.perf_counter()
    compiled(check_finite=False, **{**experiment.arguments, **extents})
    finished = time.perf_counter()
    return {
        "import_s": imported - start,
        "trace_s": traced - imported,
        "compile_s": compiled_at - traced,
        "first_run_s": finished - compiled_at,
        "start_s": finished - start,
        "peak_rss_mib": peak_rss_kib() / KIB,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))))
