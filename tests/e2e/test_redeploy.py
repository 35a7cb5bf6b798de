"""Changed code is deployed on the running stack: jobs, keys and addresses stay."""

from __future__ import annotations

from pathlib import Path

from local.stack import Stack
from local.stack.start import PROVIDERS
from tests.e2e.client import Api, is_problem
from tests.e2e.crowd import PROMPT, Crowd
from tests.e2e.truth import Provider


def test_jobs_outlive_a_deploy(stack: Stack, crowd: Crowd, caller: Api, provider: Provider, tmp_path: Path) -> None:
    """A job that ended, one that runs meanwhile and one that comes afterwards are all as they should be."""
    before = caller.ended(crowd["mp4"])
    document = {"provider": "sim", "model": "video-1", "input": {"prompt": PROMPT, "duration_s": 8}}
    running = caller.submit("before-deploy", document).json["request_id"]
    caller.until(running, lambda job: job["status"] == "running", 60)
    addresses = [stack.info[name] for name in ("api_url", "api_key", "operator_key", "table", "provider_url")]
    # The configuration is packed into the layer, so this is new code for every function.
    changed = tmp_path / "providers.toml"
    changed.write_text(PROVIDERS.read_text().replace('fail-1 = { kind = "video" }\n', ""))
    stack.info["wanted"]["providers"] = str(changed)
    stack.redeploy()
    assert [stack.info[name] for name in ("api_url", "api_key", "operator_key", "table", "provider_url")] == addresses
    gone = caller.submit("unknown-by-now", document | {"model": "fail-1"})
    assert is_problem(gone, 422, "unprocessable"), "the old code still runs"
    after = caller.job(crowd["mp4"])
    assert [after[name] for name in ("status", "history", "metadata")] == [
        before[name] for name in ("status", "history", "metadata")
    ]
    assert caller.ended(running, 120)["status"] == "succeeded"
    later = caller.submit("after-deploy", document | {"input": {"prompt": PROMPT, "duration_s": 1}}).json["request_id"]
    assert caller.ended(later, 60)["status"] == "succeeded"
    assert len(provider.charges(running)) == len(provider.charges(later)) == 1
