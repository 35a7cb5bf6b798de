"""Every deliberate breakage, by subject."""

from __future__ import annotations

from tests.simulation.mutants.catalogue import (
    callbacks,
    downloads,
    edges,
    ends,
    files,
    live,
    people,
    queues,
    restored,
    slots,
    submitting,
    table,
)
from tests.simulation.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *submitting.MUTANTS,
    *slots.MUTANTS,
    *people.MUTANTS,
    *ends.MUTANTS,
    *downloads.MUTANTS,
    *table.MUTANTS,
    *edges.MUTANTS,
    *files.MUTANTS,
    *live.MUTANTS,
    *callbacks.MUTANTS,
    *restored.MUTANTS,
    *queues.MUTANTS,
)
QUICK: tuple[Mutant, ...] = tuple(mutant for mutant in MUTANTS if mutant.quick)
