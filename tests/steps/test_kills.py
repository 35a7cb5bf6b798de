"""A process may die before or after any call: nothing is lost, nothing is charged or published twice."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from mediajobs.jobs.events import AnswerKind, Traits
from mediajobs.jobs.states import TERMINAL, State
from mediajobs.messages import Request
from tests.steps.kit import KEYED, LOOKED_UP, PLAIN
from tests.steps.town import Fate, Town

QUICK = {"expected_s": 30.0, "max_run_s": 900.0, "poll_floor_s": 5.0}
KINDS = {"key": KEYED, "lookup": LOOKED_UP, "neither": PLAIN}


def town(
    traits: Traits, fate: Fate, *, jobs: int = 1, limit: int = 1, webhooks: bool = True, forgetful: bool = False
) -> Town:
    known = replace(traits, webhooks=webhooks, **QUICK)
    made = Town(known, fate, limit=limit, webhooks=webhooks, forgetful=forgetful)
    made.submitted(jobs)
    return made


def boundaries(traits: Traits, *, webhooks: bool) -> int:
    """How many there are in an undisturbed life."""
    quiet = town(traits, Fate(), webhooks=webhooks)
    quiet.run(180)
    assert [job.state for job in quiet.store.jobs.values()] == [State.SUCCEEDED]
    return quiet.fate.met


def check(made: Town) -> None:
    """What must hold whatever was killed."""
    references = [charge.reference for charge in made.ledger.charges]
    assert len(references) == len(set(references)), "charged twice"
    assert made.most_in_flight <= made.world.settings.max_in_flight
    sent = [send.group for send in made.topic.published]
    assert len(sent) == len(set(sent)), "published twice"
    for job in made.store.jobs.values():
        ended = job.state in TERMINAL and job.published_at is not None
        assert ended or job.attention is not None, f"neither ended nor asking: {job}"
        assert ended == (job.id in sent)
        if job.state is State.SUCCEEDED:
            assert all(output.key in made.objects.stored for output in job.outputs)
            assert job.outputs
    made.held()


@pytest.mark.parametrize("forgetful", [False, True], ids=["records come again", "records are lost"])
@pytest.mark.parametrize("webhooks", [True, False], ids=["webhooks", "polls"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_at_any_boundary_loses_nothing(kind: str, webhooks: bool, forgetful: bool) -> None:
    """Where a key or a lookup is honoured the job succeeds; else it succeeds or a person is asked."""
    total = boundaries(KINDS[kind], webhooks=webhooks)
    assert total > 40
    for at in range(1, total + 1):
        made = town(KINDS[kind], Fate(at=at), webhooks=webhooks, forgetful=forgetful)
        made.run(1500)
        check(made)
        (job,) = made.store.jobs.values()
        if kind == "key" or (made.ledger.charges and (webhooks or kind == "lookup")):
            assert job.state is State.SUCCEEDED, (at, job)


@pytest.mark.parametrize("seed", range(12))
def test_many_jobs_under_kills_and_faults_all_come_home(seed: int) -> None:
    chance = random.Random(seed)
    fate = Fate(chance=chance)
    kind = list(KINDS.values())[seed % 3]
    made = town(kind, fate, jobs=8, limit=2, webhooks=seed % 2 == 0, forgetful=seed % 4 > 1)

    def answers(_: Request) -> AnswerKind | None:
        if fate.over or chance.random() > 0.4:
            return None
        return chance.choice([AnswerKind.NOT_ACCEPTED, AnswerKind.AMBIGUOUS, AnswerKind.BLOCKED])

    made.ledger.answers = answers
    made.run(1200)
    fate.over = True
    made.run(7200)
    check(made)
    states = [job.state for job in made.store.jobs.values()]
    if kind is KEYED:
        assert states.count(State.SUCCEEDED) >= 6, states
