"""What can be wrong with a result, forced: nothing bad is ever shown, and no paid result is given up for one slip."""

from __future__ import annotations

import pytest

from local.provider import media
from local.stack import Stack
from tests.e2e.client import Api, download, notes
from tests.e2e.crowd import Crowd
from tests.e2e.truth import Provider


def objects(stack: Stack, job_id: str) -> list[str]:
    """The keys that the bucket holds for a job."""
    found = stack.client("s3").list_objects_v2(Bucket=stack.info["bucket"], Prefix=f"results/{job_id}/")
    return [each["Key"] for each in found.get("Contents", [])]


@pytest.mark.parametrize("name", ["expired-link", "wrong-type", "truncated", "empty", "one-of-three"])
def test_bad_result_heals(crowd: Crowd, caller: Api, provider: Provider, stack: Stack, name: str) -> None:
    """A fresh link or another try brings the true bytes; no half of another run stays in the bucket."""
    job = caller.ended(crowd[name])
    assert (job["status"], job["error"]) == ("succeeded", None)
    (charge,) = provider.charges(crowd[name])
    for index, output in enumerate(job["outputs"]):
        assert download(output["url"]).body == media.make("image/png", f"{charge['id']}/{index}")
    assert len(objects(stack, crowd[name])) == len(job["outputs"])


def test_expired_link_is_renewed(crowd: Crowd, caller: Api, provider: Provider) -> None:
    """The provider is asked for a fresh link; the file itself is fetched once."""
    caller.ended(crowd["expired-link"])
    (charge,) = provider.charges(crowd["expired-link"])
    assert (charge["polls"], charge["downloads"]) == (1, 1)


@pytest.mark.parametrize("name", ["wrong-type-always", "empty-always"])
def test_hopeless_result_fails_the_job(crowd: Crowd, caller: Api, provider: Provider, stack: Stack, name: str) -> None:
    """Not the media asked for, twice: failed as invalid, and nothing of it is kept."""
    job = caller.ended(crowd[name])
    assert (job["status"], job["error"]["code"], job["outputs"]) == ("failed", "invalid_result", [])
    assert objects(stack, crowd[name]) == []
    assert provider.charges(crowd[name])[0]["downloads"] == 2


def test_transfer_that_is_always_cut_is_a_question(crowd: Crowd, operator: Api, stack: Stack) -> None:
    """After five failures a person is asked; with retry the sixth transfer is whole."""
    job_id = crowd["dead-letter"]
    asked = operator.asked(job_id, "dead_letter")
    assert notes(asked).count("failed store") == 4
    assert (asked["stage"], set(asked["attention"]["decisions"])) == ("storing", {"retry", "fail"})
    assert objects(stack, job_id) == []
    assert operator.resolve(job_id, "retry", asked["attention"]["version"]).status == 200
    assert operator.ended(job_id)["status"] == "succeeded"
