"""A provider with a state directory may be killed at any moment: its jobs go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from local.provider.ledger import peak_in_flight
from tests.local_provider.kit import Client, Receiver, Serve, call, until

ROOT = Path(__file__).parents[2]


def test_restart_keeps_jobs_keys_charges_and_counts(serve: Serve, receiver: Receiver, tmp_path: Path) -> None:
    """The job that ended while nobody served is told at the restart; the old key still replays."""
    first = serve(tmp_path)
    client = Client(first, receiver)
    accepted = client.submit(key="k1", duration_s=0.4)
    client.get(accepted.json["id"])
    until(lambda: client.record()["events_sent"])
    before = client.ledger()
    first.stop()
    again = Client(serve(tmp_path), receiver)
    assert again.auth == client.auth
    assert again.submit(key="k1", duration_s=0.4).body == accepted.body
    assert until(lambda: receiver.of("job.completed"))[0].body["data"]["id"] == accepted.json["id"]
    after = again.ledger()
    assert after["charges_by_reference"] == before["charges_by_reference"] == {"r.1.x": 1}
    assert (after["polls"], after["max_in_flight"]) == (1, {"sim": 1})


def test_end_heard_before_the_stop_is_not_told_again(serve: Serve, receiver: Receiver, tmp_path: Path) -> None:
    first = serve(tmp_path)
    Client(first, receiver).submit(duration_s=0.01)
    until(lambda: [e for e in Client(first, receiver).record()["events_sent"] if e["type"] == "job.completed"])
    first.stop()
    again = Client(serve(tmp_path), receiver)
    Client(again.server, receiver).submit("r.2.x", duration_s=0.01)
    until(lambda: len(receiver.of("job.completed")) == 2)
    assert len({event.id for event in receiver.of("job.completed")}) == 2


def test_torn_last_line_never_happened(serve: Serve, tmp_path: Path) -> None:
    first = serve(tmp_path)
    client = Client(first, None)
    client.submit("a.1.x")
    first.stop()
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"what":"job","jo')
    again = Client(serve(tmp_path), None)
    again.submit("b.1.x")
    assert again.ledger()["charges"] == 2
    assert all(json.loads(line) for line in journal.read_bytes().splitlines())


def test_reset_empties_the_journal_too(serve: Serve, tmp_path: Path) -> None:
    first = serve(tmp_path)
    client = Client(first, None)
    client.submit()
    call("POST", f"{first.base_url}/_reset")
    client.submit("r.2.x")
    first.stop()
    assert list(Client(serve(tmp_path), None).ledger()["charges_by_reference"]) == ["r.2.x"]


def launch(state: Path, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    options = ["--port", str(port), "--state", str(state), "--expected-s", "0.5", "--seed", "7", "--faults", "none"]
    command = [sys.executable, "-m", "local.provider", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("listening http://127.0.0.1:")
    return process, line.split()[1]


def end(process: subprocess.Popen[str], how: signal.Signals) -> int:
    os.kill(process.pid, how)
    process.wait(10)
    assert process.stdout is not None
    process.stdout.close()
    return process.returncode


def test_process_killed_hard_goes_on_at_the_same_address(tmp_path: Path, receiver: Receiver) -> None:
    """The command of the README: kill -9 in the middle of a job, start again, the job completes."""
    process, base = launch(tmp_path)
    try:
        config: Any = call("GET", f"{base}/_config").json
        auth = {"Authorization": f"Bearer {config['providers']['sim']['api_key']}"}
        body = {"model": "image-1", "input": {"prompt": "a cat asleep on a windowsill"}, "webhook_url": receiver.url}
        job_id = call("POST", f"{base}/sim/v1/jobs", body, auth).json["id"]
        assert end(process, signal.SIGKILL) == -signal.SIGKILL
        process, again = launch(tmp_path, int(base.rpartition(":")[2]))
        assert again == base
        assert call("GET", f"{base}/_config").json == config
        event = until(lambda: receiver.of("job.completed"))[0]
        assert event.body["data"]["id"] == job_id
        assert call("GET", event.body["data"]["outputs"][0]["url"]).body.startswith(b"\x89PNG")
        assert call("GET", f"{base}/_ledger").json["charges"] == 1
    finally:
        assert end(process, signal.SIGTERM) == 0


def test_peak_in_flight_is_the_most_that_overlap() -> None:
    spans = [(0, 10), (5, 15), (10, 20), (12, None)]
    jobs = [{"accepted_at": begin, "finished_at": finish} for begin, finish in spans]
    assert peak_in_flight(jobs) == 3
    assert peak_in_flight(jobs[:1]) == 1
    assert peak_in_flight([]) == 0
