"""Applies each mutant to a copy of the tree and lets the tests it names run there; the working tree is not touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory

from tests.simulation.mutants.mutant import ROOT, Mutant, applied

LEFT_OUT = ("build", ".git", ".venv", ".aws-sam", ".hypothesis", "__pycache__", ".*_cache", "*.pyc")
LONGEST_S = 180
LONGEST_WHOLE_S = 900
SELECTED = "not emulator and not stack"


class Verdict(StrEnum):
    """What came of one mutant."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN"  # it does not even run: that proves nothing of the tests


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One mutant's fate. `by`: the first test that failed, or what else was said."""

    mutant: Mutant
    verdict: Verdict
    by: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All of them. `whole`: every test that they rely on passes where nothing is broken."""

    scores: tuple[Score, ...]
    whole: bool
    said: str = ""

    @property
    def killed(self) -> int:
        return sum(score.verdict is Verdict.KILLED for score in self.scores)

    @property
    def right(self) -> bool:
        return self.whole and self.killed == len(self.scores)


class Tree:
    """A copy of the repository, in which one breakage at a time stands."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        """While this lasts the copy has the mutant."""
        path = self.root / mutant.path
        text = path.read_text()
        self._write(path, applied(mutant, self.root))
        try:
            yield
        finally:
            self._write(path, text)

    def test(self, tests: Iterable[str], longest_s: int = LONGEST_S) -> tuple[int, str]:
        """The exit code of pytest, and the first test that failed or its last line."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-m", SELECTED]
        try:
            done = self._python(command[1:], tests, longest_s)
        except subprocess.TimeoutExpired:
            return 1, f"the clock: no end within {longest_s} s"
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        failed = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return done.returncode, failed[0] if failed else lines[-1] if lines else "nothing was said"

    def check(self) -> None:
        """The copy's own product is what runs in it, not another one that is installed."""
        done = self._python(["-c", "import mediajobs; print(mediajobs.__file__)"], ())
        if not Path(done.stdout.strip()).is_relative_to(self.root):
            raise RuntimeError(f"the copy would test another product: {done.stdout}{done.stderr}")

    def _python(
        self, arguments: Sequence[str], more: Iterable[str], longest_s: int = LONGEST_S
    ) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(self.root), str(self.root / "shared")))
        return subprocess.run(
            [sys.executable, *arguments, *more],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=longest_s,
            check=False,
        )

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text)
        # Of two texts of one length written within a second, Python would take the compiled form of the other.
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


def run(mutants: Sequence[Mutant], *, workers: int = 2, tell: Callable[[str], None] = print) -> Report:
    """Every mutant's fate, in the order given. Raises Misfit before anything runs where the code has moved."""
    for mutant in mutants:
        applied(mutant)
    needed = sorted({test for mutant in mutants for test in mutant.tests})
    with TemporaryDirectory(prefix="mutants-") as home, ThreadPoolExecutor(workers) as pool:
        trees = _trees(Path(home).resolve(), workers)
        sound = pool.submit(_whole, trees, needed)
        asked: list[Future[Score]] = [pool.submit(_try, trees, mutant) for mutant in mutants]
        scores = []
        for number, answer in enumerate(asked, start=1):
            score = answer.result()
            scores.append(score)
            tell(f"{number:3}/{len(mutants)} {score.verdict:9} {score.mutant.name} ({score.seconds:.0f} s): {score.by}")
        whole, said = sound.result()
        return Report(scores=tuple(scores), whole=whole, said=said)


def _trees(home: Path, count: int) -> Queue[Tree]:
    trees: Queue[Tree] = Queue()
    for number in range(count):
        tree = Tree(home / str(number))
        shutil.copytree(ROOT, tree.root, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        tree.check()
        trees.put(tree)
    return trees


@contextmanager
def _taken(trees: Queue[Tree]) -> Iterator[Tree]:
    tree = trees.get()
    try:
        yield tree
    finally:
        trees.put(tree)


def _whole(trees: Queue[Tree], tests: Sequence[str]) -> tuple[bool, str]:
    """Whether the tests pass where nothing is broken: else any failure would count as a kill."""
    with _taken(trees) as tree:
        code, said = tree.test(tests, LONGEST_WHOLE_S)
    return code == 0, said


def _try(trees: Queue[Tree], mutant: Mutant) -> Score:
    began = time.monotonic()
    with _taken(trees) as tree, tree.broken(mutant):
        code, said = tree.test(mutant.tests)
    verdict = {0: Verdict.SURVIVED, 1: Verdict.KILLED}.get(code, Verdict.BROKEN)
    return Score(mutant=mutant, verdict=verdict, by=said, seconds=time.monotonic() - began)
