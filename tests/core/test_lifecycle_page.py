"""docs/lifecycle.md says what the table says."""

from __future__ import annotations

from pathlib import Path

from cli import lifecycle
from mediajobs.jobs.decide import TABLE
from mediajobs.jobs.rules_people import decisions
from mediajobs.jobs.states import Reason, State
from tests.core.life import PLAIN, TICK, Life


def test_the_kept_page_is_what_the_code_says() -> None:
    assert lifecycle.main(["--check"]) == 0


def test_a_page_that_differs_or_is_missing_is_told_apart(tmp_path: Path) -> None:
    page = tmp_path / "lifecycle.md"
    where = ["--file", str(page)]
    assert lifecycle.main(["--check", *where]) == 1
    assert lifecycle.main(where) == 0
    assert lifecycle.main(["--check", *where]) == 0
    page.write_text(page.read_text(encoding="utf-8").replace("strictly", "sometimes"), encoding="utf-8")
    assert lifecycle.main(["--check", *where]) == 1


def test_every_row_and_every_state_stands_on_it() -> None:
    page = lifecycle.text()
    assert all(f"\n| {rule.row} | " in page for rule in TABLE)
    assert all(f"\n| `{state}` | " in page for state in State)
    assert all(comment for comment in lifecycle.comments_of_states().values())
    assert "\n    pending --> submitting: 1" in page


def test_the_questions_on_it_are_answered_by_the_words_that_the_code_offers() -> None:
    late = Life().run().later(900)
    late.do(TICK)
    lives = {
        Reason.AMBIGUOUS_SUBMISSION: Life(PLAIN).unsure(),
        Reason.OVERDUE: late,
        Reason.PROVIDER_LOST: Life().lost(),
        Reason.DEAD_LETTER: Life().dead(),
    }
    assert set(lifecycle.ASKED) == set(Reason)
    for reason, life in lives.items():
        assert all(str(word) in lifecycle.ASKED[reason][1] for word in decisions(life.job))
