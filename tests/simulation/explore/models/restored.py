"""Models of a table that is put back to an earlier moment."""

from __future__ import annotations

from tests.simulation.explore.model import Model
from tests.simulation.explore.models.traits import PLAIN, SHORT_KEY

RESTORED: tuple[Model, ...] = (
    Model(
        name="restored",
        says="the table put back to any earlier moment by the procedure, rows lost and made anew, the same key again",
        traits=PLAIN,
        born=False,
        left={"client": 2, "dispatch": 2, "backup": 1, "restore": 1},
        long={"webhook": 1},
        grid=(0, 130, 260),
        answers=("refuse",),
        ends=(1,),
    ),
    Model(
        name="key restored",
        says="the same with a key: sent again only where the row proves how old it is",
        traits=SHORT_KEY,
        left={"dispatch": 2, "backup": 1, "restore": 1},
        long={"dispatch": 3},
        grid=(0, 61, 190, 430),
        answers=("refuse",),
        ends=(1,),
    ),
)
