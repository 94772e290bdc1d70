"""What every peer script shares: its arguments, the number of threads, timing, and one JSON line per figure.

Import this before any numerical library: most of them read the number of threads once, when they are loaded.
"""

import argparse
import json
import os
import time


def arguments(works, more=lambda parser: None):
    """Reads `--work`, `--threads`, `--rounds`, `--data` and what `more` adds, and limits the threads of this process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", default=",".join(works), help="names, separated by commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="timed repetitions; the best one counts")
    parser.add_argument("--data", help="recorded transitions (.npz), for works that learn from some")
    more(parser)
    options = parser.parse_args()
    options.work = options.work.split(",")
    unknown = set(options.work) - set(works)
    if unknown:
        parser.error(f"unknown work {sorted(unknown)}; this peer has {sorted(works)}")
    limit(options.threads)
    return options


def limit(threads):
    """Most numerical libraries ask these variables."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)


def pin(threads):
    """Leaves this process as many cores as it may have threads: XLA knows no other limit."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[:threads])


def repeat(call, most, seconds):
    """Calls until `most` times or `seconds` are reached; returns how often."""
    begun = time.perf_counter()
    for done in range(1, most + 1):
        call()
        if time.perf_counter() - begun > seconds:
            break
    return done


def best_microseconds(call, rounds, finish=lambda: None, slice_seconds=0.05):
    """Best time of one call. A round repeats it for about `slice_seconds`; `finish` waits for what is still under way. Calls that
    are much longer than a round get fewer rounds, but four."""
    # The first call may compile; the next ones warm up, for long only if they are quick.
    call()
    finish()
    repeat(call, 20, 1.0)
    finish()
    begun = time.perf_counter()
    done = repeat(call, 10, 1.0)
    finish()
    seconds = (time.perf_counter() - begun) / done
    calls = max(1, int(slice_seconds / max(seconds, 1e-7)))
    rounds = max(4, min(rounds, int(2 * rounds * slice_seconds / max(seconds, 1e-7))))
    best = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        finish()
        best = min(best, (time.perf_counter() - begun) / calls)
    return best * 1e6


def best_steps_per_second(run, steps, rounds):
    """`run(steps)` trains for that many environment steps."""
    best = 0.0
    for _ in range(rounds):
        begun = time.perf_counter()
        run(steps)
        best = max(best, steps / (time.perf_counter() - begun))
    return best


def emit(work, variant, threads, value, unit):
    line = {"work": work, "variant": variant, "threads": threads, "value": round(value, 3), "unit": unit}
    print(json.dumps(line), flush=True)
