"""python -m bench.media: peak memory of downloads of 1 MiB, 100 MiB and 2 GiB, and their speed beside a plain copy.

Memory is judged: it must be flat and fit into the function. Speed is only told; this machine's own noise is in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

ROOT = Path(__file__).resolve().parents[2]
HERE = {"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"}
MIB = 1024 * 1024
FUNCTION_MIB = 256
FLAT_MIB = 24  # 2 GiB may take so much more than 1 MiB: the part that is being filled, and what sending it takes
RUNS = ((1, 1), (100, 1), (100, 3), (2048, 1))


def main() -> int:
    print(f"{'download':>14}  {'peak memory':>12}  {'MiB/s':>7}  {'plain copy':>10}  {'ratio':>6}")
    peaks: dict[tuple[int, int], float] = {}
    with server("files") as files, server("sink") as sink:
        for size, count in RUNS:
            ours, plain = (_best(what, files, sink, size * MIB, count) for what in ("store", "copy"))
            peaks[size, count] = ours["peak"] / MIB
            speed, beside = (size * count / told["seconds"] for told in (ours, plain))
            name = f"{count} x {size} MiB"
            shown = f"{speed:7.0f}  {beside:10.0f}  {speed / beside:6.2f}" if size > 1 else f"{'-':>7}"
            print(f"{name:>14}  {peaks[size, count]:8.0f} MiB  {shown}", flush=True)
    return _judged(peaks)


def _judged(peaks: dict[tuple[int, int], float]) -> int:
    more = peaks[2048, 1] - peaks[1, 1]
    print(f"2 GiB took {more:.0f} MiB more than 1 MiB (at most {FLAT_MIB}); the function has {FUNCTION_MIB} MiB")
    return int(more > FLAT_MIB or max(peaks.values()) > FUNCTION_MIB * 0.75)


def _best(what: str, files: int, sink: int, size: int, count: int) -> dict[str, float]:
    """The quicker of two, with the greater memory: what else runs here makes a run slower and never quicker."""
    runs = [run(what, files, sink, size, count) for _ in range(2)]
    return {"seconds": min(one["seconds"] for one in runs), "peak": max(one["peak"] for one in runs)}


def run(what: str, files: int, sink: int, size: int, count: int) -> dict[str, float]:
    arguments = [str(number) for number in (files, sink, size, count)]
    done = subprocess.run(_python("bench.media.run", what, *arguments), stdout=subprocess.PIPE, check=True, env=HERE)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


@contextmanager
def server(kind: str) -> Iterator[int]:
    command = _python("bench.media.servers", kind)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=HERE) as process:
        try:
            yield int(cast("IO[bytes]", process.stdout).readline())
        finally:
            process.terminate()


def _python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


if __name__ == "__main__":
    sys.exit(main())
