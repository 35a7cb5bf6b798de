"""Every case has its tests, and docs/cases.md says what happens in each and names one of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "cases.md"
CASES = (5, 7, 8, 9, 12, 14, 15, 17, 18, 21, 22, 23, 24, 27, 29, 30, 32, 35, 36, 37, 38, 39, 42, 45, 47, 48, 51)
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| `(test_\w+\.py)` (test_case_(\d\d)_\w+) \|$", re.MULTILINE)


def written() -> dict[str, set[str]]:
    """Module -> the names of its tests."""
    return {
        path.name: {
            node.name
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        }
        for path in HERE.glob("test_*.py")
        if path != Path(__file__)
    }


def rows() -> list[tuple[str, ...]]:
    return [match.groups() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("case", CASES)
def test_case_has_a_test_that_names_it(case: int) -> None:
    """`test_case_05_…` for case 5."""
    assert any(name.startswith(f"test_case_{case:02d}_") for names in written().values() for name in names)


def test_no_test_names_a_case_that_is_not_listed() -> None:
    found = {name for names in written().values() for name in names}
    assert {name for name in found if not re.match(r"test_case_\d\d_", name)} == set()
    assert {int(name[10:12]) for name in found} == set(CASES)


def test_the_page_has_one_row_for_each_case_in_order() -> None:
    """A row that the pattern does not read would be missing here."""
    assert [int(row[0]) for row in rows()] == list(CASES)


def test_each_row_names_a_test_of_its_case_that_exists() -> None:
    known = written()
    for case, fault, happens, module, name, number in rows():
        assert int(case) == int(number), name
        assert name in known.get(module, ()), f"{module} has no {name}"
        assert len(fault) > 10, case
        assert len(happens) > 30, case
