"""Breakages of what brings the work: batches of queues and of the stream, ticks, the outbox."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

BATCHES = ("tests/steps/test_batches.py",)
RUNS = ("tests/steps/test_reconcile_runs.py",)
RELAY = ("tests/steps/test_relay.py",)

MUTANTS = (
    Mutant(
        name="a batch that fails whole is an error",
        why="acknowledge",
        breaks="Lambda takes it for a broken function and slows the queue down",
        file="batches.py",
        old="""EventType.SQS, raise_on_entire_batch_failure=False)

    def record_handler(record: SQSRecord) -> None:
        message = _message""",
        new="""EventType.SQS)

    def record_handler(record: SQSRecord) -> None:
        message = _message""",
        tests=BATCHES,
    ),
    Mutant(
        name="a batch of the stream that fails whole is an error",
        why="acknowledge",
        breaks="one row that cannot be relayed yet counts as a broken function",
        file="batches.py",
        old="EventType.DynamoDBStreams, raise_on_entire_batch_failure=False",
        new="EventType.DynamoDBStreams",
        tests=BATCHES,
    ),
    Mutant(
        name="every receive is the first",
        why="H18",
        breaks="a message whose process always dies ends in a dead-letter queue and nobody is asked",
        file="batches.py",
        old="int(record.attributes.approximate_receive_count or 1)",
        new="1",
        tests=BATCHES,
    ),
    Mutant(
        name="what is no message of ours comes again",
        why="acknowledge",
        breaks="a stray message goes round for two weeks",
        file="batches.py",
        old="""step=step_name, message_id=record.message_id)
            return
""",
        new="""step=step_name, message_id=record.message_id)
            raise ValueError
""",
        tests=BATCHES,
    ),
    Mutant(
        name="ticks without a time are one tick",
        why="reconcile",
        breaks="where the schedule's time is not filled in, one run an hour is all there is",
        file="schedule.py",
        old=' and not time.startswith("<")',
        new="",
        tests=RUNS,
    ),
    Mutant(
        name="relay stops at a word that fails",
        why="outbox",
        breaks="whoever listens hears of an end only when the topic is well again",
        file="steps/relay.py",
        old="            failure = failure or error\n",
        new="            raise\n",
        tests=RELAY,
    ),
    Mutant(
        name="relay keeps a failure to itself",
        why="acknowledge",
        breaks="the record is acknowledged though one of its words was not carried out",
        file="steps/relay.py",
        old="    if failure is not None:\n        raise failure\n",
        new="",
        tests=RELAY,
    ),
    Mutant(
        name="the queue's handler keeps a failure to itself",
        why="acknowledge",
        breaks="a message is acknowledged though nothing was decided",
        file="steps/worker.py",
        old="""error=type(error).__name__, detail=str(error)[:200])
        raise
""",
        new="""error=type(error).__name__, detail=str(error)[:200])
        return "again"
""",
        tests=("tests/steps/test_worker.py",),
    ),
    Mutant(
        name="a quick provider's job waits for the next tick",
        why="reconcile",
        breaks="an index that lags costs a job of seconds a minute",
        file="steps/reconcile.py",
        old="            if not _falls_due_soon(world):\n                break\n",
        new="            break\n",
        tests=RUNS,
    ),
)
