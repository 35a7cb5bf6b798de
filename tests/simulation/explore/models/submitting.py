"""Models of one job on its way to the provider."""

from __future__ import annotations

from tests.simulation.explore.model import Model
from tests.simulation.explore.models.traits import FOUND, KEYED, PLAIN, SHORT_KEY

SUBMITTING: tuple[Model, ...] = (
    Model(
        name="keyed",
        says="a provider with a key: requests on the wire, refusals on a retry, cancel",
        traits=KEYED,
        left={"dispatch": 2, "cancel": 1},
        long={"dispatch": 3},
        grid=(0, 61),
        answers=("refuse", "reject", "block"),
        ends=(),
    ),
    Model(
        name="key ends",
        says="a provider that forgets its keys",
        traits=SHORT_KEY,
        left={"dispatch": 2, "look": 1},
        long={"dispatch": 3, "look": 2},
        grid=(0, 240, 301, 420),
        ends=(),
    ),
    Model(
        name="keyless",
        says="a provider without a key: webhooks early and late, a look, a cancel",
        traits=PLAIN,
        left={"dispatch": 2, "webhook": 1, "look": 1},
        long={"webhook": 2, "cancel": 1},
        grid=(0, 61),
        answers=("refuse",),
    ),
    Model(
        name="lookup",
        says="a provider that finds our reference, or not yet",
        traits=FOUND,
        left={"dispatch": 2, "look": 3},
        long={"look": 4, "cancel": 1, "webhook": 1},
        grid=(0, 61, 200, 500),
        answers=(),
        ends=(1,),
    ),
    Model(
        name="deadline",
        says="the start deadline against claims, refusals and requests without answer",
        traits=KEYED,
        start_within_s=120,
        left={"dispatch": 2, "look": 1},
        long={"look": 2, "cancel": 1},
        grid=(0, 61, 121),
        ends=(),
    ),
    Model(
        name="rotation",
        says="a base URL that is changed while a job is under way: a retry would be another request",
        traits=KEYED,
        left={"dispatch": 2, "look": 1},
        long={"dispatch": 3},
        grid=(0, 61, 200),
        rotates_s=100,
        answers=("refuse",),
        ends=(),
    ),
    Model(
        name="dead letter",
        says="a step that dies ten times, or fails for our own reason; retries and failing by a person, late and twice",
        traits=KEYED,
        left={"dispatch": 1, "dead": 1, "person": 2, "no input": 1},
        long={"dispatch": 2},
        grid=(0, 61),
        answers=("refuse",),
        people=("retry", "fail"),
        ends=(),
    ),
    Model(
        name="submit",
        says="twin submits of one key, and a claim before the answer",
        traits=KEYED,
        born=False,
        left={"client": 2, "dispatch": 1, "look": 1, "conflict": 1},
        long={"client": 3, "dispatch": 2},
        grid=(0, 61),
        ends=(),
    ),
)
