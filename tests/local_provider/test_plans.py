"""The faults of a run come from the seed and the reference, and hit as often as configured."""

from __future__ import annotations

import pytest

from local.provider.faults import PROFILES, FaultBook
from local.provider.plans import DRAWN, JobPlan, SubmitPlan, job_plan, submit_plan
from local.provider.settings import Settings


def plans(seed: int, profile: str, count: int = 300, incarnation: str = "a") -> list[JobPlan]:
    book = FaultBook(seed, profile)
    names = [f"job{n}.1.{incarnation}" for n in range(count)]
    return [
        job_plan(book.job("sim", name, 0), "video-1", None, Settings(), book.draw("sim", name, 0)) for name in names
    ]


def submissions(seed: int, profile: str, count: int) -> list[SubmitPlan]:
    book = FaultBook(seed, profile)
    names = [f"job{n}.1.a" for n in range(count)]
    return [submit_plan(book.submission("sim", name, 0), 0, book.draw("sim", name, 0)) for name in names]


def test_same_seed_same_faults_whatever_the_incarnation() -> None:
    assert plans(7, "heavy") == plans(7, "heavy", incarnation="b")
    assert plans(7, "heavy") != plans(8, "heavy")
    assert submissions(7, "heavy", 300) == submissions(7, "heavy", 300)


def test_faults_are_drawn_apart_so_changing_one_moves_no_other() -> None:
    book = FaultBook(7, "default")
    before = [book.job("sim", f"j{n}.1.a", 0) for n in range(300)]
    book.configure({"probabilities": {"reorder": 0.0}})
    after = [book.job("sim", f"j{n}.1.a", 0) for n in range(300)]
    assert before != after
    assert [{k: v for k, v in faults.items() if k != "reorder"} for faults in before] == after


def test_profile_none_has_no_fault() -> None:
    assert all(plan.faults == () for plan in plans(7, "none"))
    assert all((plan.before, plan.after) == ("", "") for plan in submissions(7, "none", 300))


def test_default_profile_hits_as_often_as_promised() -> None:
    """Twenty per cent dropped and repeated, ten reordered, late, expired, ambiguous and refused, two for ever."""
    jobs, posts = plans(3, "default", 4000), submissions(3, "default", 4000)
    share = {
        "drop": sum(plan.drop != "" for plan in jobs),
        "repeat": sum(plan.repeat > 1 for plan in jobs),
        "reorder": sum(plan.reorder for plan in jobs),
        "delay": sum(plan.delay_s > 0 for plan in jobs),
        "expired": sum(plan.expired_url for plan in jobs),
        "never": sum(plan.ending == "gone" for plan in jobs),
        "ambiguous": sum(plan.after != "" for plan in posts),
        "unavailable": sum(plan.before == "unavailable_before" for plan in posts),
    }
    expected = {"drop": 20, "repeat": 20, "reorder": 10, "delay": 10, "expired": 10, "never": 2}
    expected |= {"ambiguous": 9, "unavailable": 10}  # a refused submission cannot be ambiguous too
    for name, per_cent in expected.items():
        assert share[name] / 40 == pytest.approx(per_cent, abs=max(1.8, per_cent * 0.1)), name


def test_heavy_is_twice_default_and_has_everything() -> None:
    assert all(PROFILES["heavy"][name] == min(1, 2 * chance) for name, chance in PROFILES["default"].items())
    hit = {name for plan in plans(3, "heavy", 4000) for name in plan.faults}
    hit |= {name for plan in submissions(3, "heavy", 4000) for name in (plan.before, plan.after) if name}
    assert hit == DRAWN - {"blocked"}


def test_run_times_lie_around_the_expected_one() -> None:
    times = [plan.duration_s for plan in plans(7, "none")]
    assert 1 <= min(times) < 2
    assert 5 < max(times) <= 6
    assert len({round(time, 3) for time in times}) > 250
    assert job_plan({}, "slow-1", None, Settings(), lambda _: 0.5).duration_s == 20


def test_delays_are_5_to_90_seconds_and_half_have_an_old_time() -> None:
    late = [plan for plan in plans(7, "heavy", 2000) if plan.delay_s]
    assert all(5 <= plan.delay_s <= 90 for plan in late)
    assert sum(plan.old_timestamp for plan in late) / len(late) == pytest.approx(0.5, abs=0.1)


def test_retry_draws_anew() -> None:
    book = FaultBook(7, "default")
    book.configure({"probabilities": {"close_after": 0.5}})
    outcomes = {
        submit_plan(book.submission("sim", "j.1.a", attempt), attempt, book.draw("sim", "j.1.a", attempt)).after
        for attempt in range(20)
    }
    assert {"", "close_after"} <= outcomes


def test_script_counts_jobs_not_attempts_and_binds_to_the_reference() -> None:
    book = FaultBook(7, "heavy")
    book.configure({"script": [{"next": 1, "provider": "sim-nokey", "fault": {"close_after": True, "drop": True}}]})
    assert dict(book.job("sim", "j.1.a", 0)) != {"drop": True}
    for attempt in range(3):
        plan = submit_plan(book.submission("sim-nokey", "j.1.a", attempt), attempt, lambda _: 0.0)
        assert plan.after == ("close_after" if attempt == 0 else "")
    assert dict(book.job("sim-nokey", "j.1.a", 0)) == {"drop": True}
    assert book.describe()["script"][0]["next"] == 0
    assert {**book.job("sim-nokey", "k.1.a", 0)} == {**FaultBook(7, "heavy").job("sim-nokey", "k.1.a", 0)}


def test_script_by_reference_takes_the_request_id_alone() -> None:
    book = FaultBook(7, "none")
    book.configure({"script": [{"reference": "job7", "fault": {"lost": True}}]})
    assert dict(book.job("sim", "job7.2.zz", 0)) == {"lost": True}
    assert dict(book.job("sim", "job70.1.zz", 0)) == {}
    book.configure({"script": []})
    assert dict(book.job("sim", "job7.3.zz", 0)) == {}


def test_provider_overrides_and_profile_change() -> None:
    book = FaultBook(7, "none")
    book.configure({"providers": {"sim-nokey": {"drop": 1.0}}})
    assert (dict(book.job("sim", "j.1.a", 0)), dict(book.job("sim-nokey", "j.1.a", 0))) == ({}, {"drop": True})
    book.configure({"profile": "none"})
    assert dict(book.job("sim-nokey", "k.1.a", 0)) == {}
