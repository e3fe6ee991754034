"""Run in a fresh process by a suite: from nothing to the first finished iteration, timed.

Prints one JSON object. Its arguments are FILE[:FUNCTION] and a JSON object of extents.
"""

import json
import resource
import sys
import time

KIB = 1024


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
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB,
    }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(sys.argv[2]))))
