"""`make fuzz`: rounds of any input until the time is up; each that fails is kept with the command that repeats it."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random

from tests.fuzz.content_rounds import Depth
from tests.fuzz.program import is_stuck
from tests.fuzz.rounds import KINDS, play
from tests.fuzz.session import one_session

_ROUNDS_OF_A_LAKE = 8
_DEPTHS: tuple[Depth, ...] = ("READ", "READ", "RUN", "WHOLE")  # a run takes some ten times as long as reading


def main() -> int:
    """Play rounds and return how the fuzzing ended: 0 when every invariant held, else 1."""
    options = _options()
    seed = int(time.time()) if options.seed is None else options.seed
    kinds = options.only or KINDS
    base = Path(tempfile.mkdtemp(prefix="faultline-fuzz-"))
    print(f"seed {seed}, {options.minutes:g} minutes at most, kinds {', '.join(kinds)}, inputs in {base}", flush=True)
    until = time.monotonic() + 60 * options.minutes
    failed = played = 0
    with one_session():
        while time.monotonic() < until and (options.rounds is None or played < options.rounds * len(kinds)):
            kind, of_round = kinds[played % len(kinds)], seed + played // len(kinds)
            lake = base / f"lake-{played // _ROUNDS_OF_A_LAKE}"
            failed += not _passes(kind, of_round, base, lake, options.depth)
            played += 1
            if is_stuck():
                print("a call to Spark hangs, and with it all rounds after it: begin again with another seed")
                break
    print(f"{played} rounds, {failed} failed")
    if not failed:
        shutil.rmtree(base)
    return int(failed > 0)


def _passes(kind: str, seed: int, base: Path, lake: Path, depth: Depth | None) -> bool:
    folder = base / f"{kind}-{seed}"
    folder.mkdir()
    of_round: Depth = Random(seed).choice(_DEPTHS) if depth is None else depth
    began = time.monotonic()
    try:
        breaches = play(kind, seed, folder, lake, of_round)
    except Exception:  # noqa: BLE001 - a fault of the fuzzer, or of what it reads, ends its round only
        breaches = [traceback.format_exc()[-1_500:]]
    print(
        f"{'FAILED' if breaches else 'passed'} {kind} {seed} {of_round} ({time.monotonic() - began:.0f} s)", flush=True
    )
    for breach in breaches:
        print(f"  {breach[:2_000]}", flush=True)
    if breaches:
        print(f"  input: {folder}")
        print(f"  again: make fuzz FUZZ_ARGS='--seed {seed} --rounds 1 --only {kind} --depth {of_round}'", flush=True)
    else:
        shutil.rmtree(folder)
    return not breaches


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make fuzz", description="Give the program bad input until the time is up.")
    parser.add_argument("--seed", type=int, help="of the first round; each later one is one more; default: the time")
    parser.add_argument("--rounds", type=int, help="of each kind; default: as many as the minutes allow")
    parser.add_argument("--minutes", type=float, default=10, help="no round begins later; default 10")
    parser.add_argument("--only", action="append", choices=KINDS, help="this kind of input; repeatable; default: all")
    parser.add_argument("--depth", choices=sorted(set(_DEPTHS)), help="how far a round goes; default: by its seed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
