"""Live progress: whom a token lets in, what is told, and that telling is never in the way."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_LISTENERS = ("tests/api/test_listeners.py", "tests/unit/test_channels.py")
_TELLING = ("tests/steps/test_live.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="a live token opens every channel",
        why="tenants",
        breaks="whoever may hear of one job hears of all by a wildcard",
        file="steps/authorize.py",
        old="""operation == "EVENT_SUBSCRIBE" and channel in (own, own[1:])""",
        new="""operation == "EVENT_SUBSCRIBE" and channel is not None""",
        tests=_LISTENERS,
    ),
    Mutant(
        name="a live token publishes",
        why="access",
        breaks="a listener makes others believe that a job has ended",
        file="steps/authorize.py",
        old="""operation == "EVENT_SUBSCRIBE" and channel in (own, own[1:])""",
        new="""channel in (own, own[1:])""",
        tests=_LISTENERS,
    ),
    Mutant(
        name="a live token is good for ever",
        why="access",
        breaks="a token that got about opens its channel after the hour",
        file="signatures/channels.py",
        old="""if now_ms < expires_s * 1000 else None""",
        new="""if now_ms < expires_s * 1000_000 else None""",
        tests=_LISTENERS,
    ),
    Mutant(
        name="a live token does not sign its end",
        why="access",
        breaks="its holder writes another end into it",
        file="signatures/channels.py",
        old="""mac(secret, "live-channel", segment, job_id, str(expires_s))""",
        new="""mac(secret, "live-channel", segment, job_id)""",
        tests=_LISTENERS,
    ),
    Mutant(
        name="a channel that fails fails the step",
        why="outbox",
        breaks="a record of the stream comes again because nobody could be told",
        file="steps/live.py",
        old="        return False\n    return True\n",
        new="        raise\n    return True\n",
        tests=_TELLING,
    ),
    Mutant(
        name="a tick after the end is told",
        why="condition",
        breaks="the end is not the last that is told",
        file="steps/webhook.py",
        old="    if job.state not in OPEN:  # relay tells",
        new="    if job.state is None:  # relay tells",
        tests=_TELLING,
    ),
    Mutant(
        name="a live event has no order",
        why="H9",
        breaks="a late event cannot be told from news",
        file="views.py",
        old="""        "version": job.version,
        "status": PUBLIC_STATUS[job.state],""",
        new="""        "version": 1,
        "status": PUBLIC_STATUS[job.state],""",
        tests=_TELLING,
    ),
)
