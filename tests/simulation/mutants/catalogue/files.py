"""Files that go in: whose they are, what is checked, and that a repeated attempt is the same."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_TESTS = ("tests/steps/test_files_in.py", "tests/steps/test_files_served.py")

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="an input's URL changes with time",
        why="H3",
        breaks="a repeated attempt is another request than the first",
        file="steps/uploads.py",
        old='return f"{base}/v1/inputs/{job.id}.',
        new='return f"{base}/v1/inputs/{world.clock.now()}{job.id}.',
        tests=_TESTS,
    ),
    Mutant(
        name="an input's URL outlives the row",
        why="H10",
        breaks="a URL of an earlier job reads the file of a later one under the same key",
        file="signatures/tokens.py",
        old='mac(secret, "input-url", request_id, incarnation, name)',
        new='mac(secret, "input-url", request_id, name)',
        tests=("tests/unit/test_uploads.py",),
    ),
    Mutant(
        name="an upload is found whoever posted it",
        why="tenants",
        breaks="a tenant makes a job of another's file",
        file="uploads.py",
        old='return f"uploads/{tenant}/{name}"',
        new='return f"uploads/{name}"',
        tests=_TESTS,
    ),
    Mutant(
        name="an upload may be named for ever",
        why="condition",
        breaks="what is submitted may be gone a moment later",
        file="steps/uploads.py",
        old="if upload is not None and world.clock.now() < upload.until:",
        new="if upload is not None:",
        tests=_TESTS,
    ),
    Mutant(
        name="a file's content is not looked at",
        why="size",
        breaks="a page under a picture's name is paid for",
        file="steps/uploads.py",
        old="    _check_type(place, upload, found.body, whole=len(found.body) == found.size)\n",
        new="",
        tests=_TESTS,
    ),
    Mutant(
        name="a replay looks for its upload again",
        why="condition",
        breaks="a key is refused a day after its job was accepted",
        file="steps/uploads.py",
        old="if not places or world.store.load(job.id) is not None:",
        new="if not places:",
        tests=_TESTS,
    ),
    Mutant(
        name="a job's file may be gone when it is submitted",
        why="condition",
        breaks="a provider is paid for a file that it cannot read",
        file="steps/uploads.py",
        old="if world.clock.now() >= kept_until:",
        new="if not kept_until:",
        tests=_TESTS,
    ),
    Mutant(
        name="an input is served after the job has ended",
        why="tenants",
        breaks="whoever logged the URL reads the caller's file for weeks",
        file="steps/uploads.py",
        old="job is None or job.state in TERMINAL or not",
        new="job is None or not",
        tests=_TESTS,
    ),
    Mutant(
        name="an input is served to whoever asks",
        why="tenants",
        breaks="a guess at a name reads a caller's file",
        file="steps/uploads.py",
        old=" or not _is_ours(world, job, token, name):",
        new=":",
        tests=_TESTS,
    ),
)
