"""Breakages of long downloads: what is joined, who may join it, and what becomes of it."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

LONG = ("tests/steps/test_transfers.py", "tests/steps/test_resumed_transfers.py")

MUTANTS = (
    Mutant(
        name="a part of another file is joined",
        why="resume",
        breaks="the rest of a file that has changed meanwhile is joined to the start of the old one",
        file="steps/fetch.py",
        old='        if match is None or stream.headers.get("etag", self._validator) != self._validator:\n',
        new="        if match is None:\n",
        tests=LONG,
    ),
    Mutant(
        name="a weak tag vouches for bytes",
        why="resume",
        breaks="a file is joined over a tag that promises no more than the same meaning",
        file="steps/fetch.py",
        old="_STRONG = re.compile(r'\"[!#-~]*\"')\n",
        new="_STRONG = re.compile(r'.+')\n",
        tests=LONG,
    ),
    Mutant(
        name="a living run's upload is taken over",
        why="H11",
        breaks="two runs feed one upload",
        file="steps/transfers.py",
        old="        if any(one.lease_until > now for one in found):\n",
        new="        if any(one.lease_until < 0 for one in found):\n",
        tests=LONG,
    ),
    Mutant(
        name="a loser deletes what the winner recorded",
        why="H11",
        breaks="of two runs that went on with one upload the loser removes the object that the row names",
        file="steps/store.py",
        old="for output in event.outputs if output.key not in named])\n",
        new="for output in event.outputs if named or output.key])\n",
        tests=LONG,
    ),
    Mutant(
        name="what was joined is believed unread",
        why="resume",
        breaks="a file of two runs is recorded though it could not be read back",
        file="steps/fetch.py",
        old="            self._world.objects.delete([self.place.key])\n",
        new="",
        tests=LONG,
    ),
    Mutant(
        name="a resumed upload is taken for empty",
        why="resume",
        breaks="what is stored already is asked for and written again behind itself",
        file="steps/place.py",
        old="        place._upload, place.size = upload, upload.kept\n",
        new="        place._upload, place.size = upload, 0\n",
        tests=LONG,
    ),
    Mutant(
        name="a link that ends is asked to its last second",
        why="resume",
        breaks="the rest of a file is asked for by a link that is about to end",
        file="steps/fetch.py",
        old="        if self._requests and end is not None and end - CLOSE_MS < self._world.clock.now():\n",
        new="        if self._requests and end is not None and end < 0:\n",
        tests=LONG,
    ),
    Mutant(
        name="a failed run keeps its lease",
        why="resume",
        breaks="the next run waits a quarter of an hour for a run that is over",
        file="steps/store.py",
        old="        transfers.give_back()\n        record_failure",
        new="        record_failure",
        tests=LONG,
    ),
)
