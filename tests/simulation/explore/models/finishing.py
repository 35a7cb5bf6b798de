"""Models of one job's end: stored, published, forgotten."""

from __future__ import annotations

from tests.simulation.explore.model import Model
from tests.simulation.explore.models.traits import KEYED

FINISHING: tuple[Model, ...] = (
    Model(
        name="store",
        says="two store runs at once, links that are dead, cut or serve no media, fresh links, a person's retry",
        traits=KEYED,
        prelude=("dispatch", "ends", "webhook"),
        left={"store": 2, "person": 1, "cancel": 1},
        long={"store": 3, "look": 1, "webhook": 1},
        grid=(0, 451),
        links=("good", "dead", "bad", "cut"),
        people=("retry", "fail"),
        loses=True,
        ends=(),
    ),
    Model(
        name="publish",
        says="relay and reconcile publish at once and die before and after the send and the mark; ttl, the key again",
        traits=KEYED,
        prelude=("dispatch", "ends", "webhook", "store"),
        left={"publish": 2, "look": 1, "conflict": 1, "client": 1, "stale": 1},
        long={"look": 2, "webhook": 1, "dispatch": 1},
        grid=(0, 451, 600),
        kept=frozenset({"publish"}),
        clears=True,
        ends=(),
    ),
    Model(
        name="unsendable",
        says="a topic that refuses five times: a person is asked, and the end is published after all, under its one id",
        traits=KEYED,
        prelude=("dispatch", "ends", "webhook", "store"),
        left={"look": 5, "refused": 5, "person": 1},
        long={"look": 6, "publish": 1, "person": 2},
        grid=(0, 451, 520, 590, 660, 730),
        long_grid=(0, 451, 520, 590, 660, 730, 800),
        kept=frozenset({"publish"}),
        people=("retry",),
        ends=(),
    ),
)
