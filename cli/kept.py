"""Files in docs/ that are written from the code: write one, or say whether the kept one still tells the truth."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def command(
    program: str, kept: Path, text: Callable[[], str], *, again: str, arguments: Sequence[str] | None = None
) -> int:
    """The exit code of `program [--check] [--file path]`. `again`: the command that writes the file anew."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=f"Write docs/{kept.name} from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the kept file differs")
    parser.add_argument("--file", type=Path, default=kept, help=f"another file than docs/{kept.name}")
    options = parser.parse_args(arguments)
    file, fresh = options.file, text()
    if not options.check:
        file.parent.mkdir(exist_ok=True)
        file.write_text(fresh, encoding="utf-8")
        print(f"wrote {file.name}")
        return 0
    if not file.exists() or file.read_text(encoding="utf-8") != fresh:
        print(f"{file.name} is not what the code says; run: {again}", file=sys.stderr)
        return 1
    return 0
