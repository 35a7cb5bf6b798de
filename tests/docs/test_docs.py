"""What must hold for every file that is kept, and for the pages in docs/."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_KEPT = {".git", ".venv", ".aws-sam", "build", "__pycache__", ".hypothesis", ".mypy_cache", ".ruff_cache"}
DECISIONS = ROOT / "docs" / "decisions"

# Taken apart, so that this very file does not hold what it looks for.
_FOLDERS = "|".join(("ro" + "ot", "ho" + "me", "Us" + "ers", "wo" + "rk"))
_HOSTS = "|".join(("pyp" + r"i\.org", "python" + "hosted", "npm" + r"js\.", r"registry\." + "npm"))
_WORDS = "|".join(("help" + "ers?", "sub-?" + "agents?", "work" + "place", "chat" + "bots?"))
FOREIGN = {
    "a path of one machine": rf"(?<![\w.~$}}>*])/(?:{_FOLDERS})/\w",
    "a temporary path": r"(?<![\w$}])/" + r"tmp/\w",
    "an index of packages": _HOSTS,
    "talk of its making": rf"(?i)\b(?:{_WORDS})\b",
}


def kept() -> list[Path]:
    """The files under version control, and new ones that would be."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return sorted({ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()})
    return [path for path in sorted(ROOT.rglob("*")) if path.is_file() and NOT_KEPT.isdisjoint(path.parts)]


def texts() -> Iterator[tuple[Path, str]]:
    for path in kept():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


@pytest.mark.parametrize("what", FOREIGN)
def test_no_file_holds_what_belongs_to_one_machine_or_one_day(what: str) -> None:
    """The project stands for itself: no absolute path, no index of packages, nothing about its making."""
    pattern = re.compile(FOREIGN[what])
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a path of one machine", "see /" + "root/notes"),
        ("a path of one machine", "cd /" + "home/me"),
        ("a temporary path", "log in /" + "tmp/x"),
        ("an index of packages", "https://pyp" + "i.org/simple"),
        ("talk of its making", "asked a sub" + "agent"),
    ],
)
def test_the_check_itself_finds(what: str, text: str) -> None:
    """A pattern that matches nothing would pass for ever."""
    assert re.search(FOREIGN[what], text)


PAGES = [path for path in kept() if path.suffix == ".md"]


def anchors(page: Path) -> set[str]:
    """The headings of a page as a link names them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Each link to a file of this project finds it, and the heading it names."""
    prose = re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_that_are_named_exist(page: Path) -> None:
    """A command that a page gives can be typed."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^ *\$ )make ([a-z][a-z-]*)", page.read_text(), re.MULTILINE))
    assert named <= targets, f"{page.name} names {sorted(named - targets)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    """`folder/file` in a page is there; names with a placeholder, and what commands make, are not looked for."""
    made = ("build/", ".venv/", ".aws-sam/")
    for name in re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", page.read_text()):
        first = name.split("/")[0]
        if (ROOT / first).is_dir() and not name.startswith(made):
            assert (ROOT / name).exists(), f"{page.name} names {name}"


def test_decisions_are_numbered_without_a_gap() -> None:
    """0001, 0002, …: the number in the name and in the heading, each with what it costs."""
    files = sorted(DECISIONS.glob("*.md"))
    for number, file in enumerate(files, 1):
        assert file.name.startswith(f"{number:04d}-"), file.name
        text = file.read_text()
        assert text.startswith(f"# {number}. "), file.name
        assert "**Decision.**" in text, file.name
        assert len(text.splitlines()) <= 45, f"{file.name} is longer than half a page"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_diagrams_are_well_formed(page: Path) -> None:
    """Each Mermaid block names its kind, closes what it opens, and its arrows have two ends."""
    for block in re.findall(r"^```mermaid\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        kind, *lines = block.strip().splitlines()
        assert re.match(r"(flowchart (LR|TD|TB|RL)|stateDiagram-v2|sequenceDiagram)$", kind), kind
        bare = re.sub(r"\|[^|]*\||\"[^\"]*\"", "", block)
        for opened, closed in ("()", "[]", "{}"):
            assert bare.count(opened) == bare.count(closed), f"{page.name}: {opened}{closed}"
        for line in lines:
            ends = [end.strip() for end in re.split(r"-->(?:\|[^|]*\|)?", line)]
            assert all(ends), f"{page.name}: {line}"
            assert line.count("|") % 2 == 0, f"{page.name}: {line}"
