"""docs/operations.md names every alarm, reason and decision, and its commands can be typed."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import boto3

from local.stack.template import Template
from mediajobs.api import schemas
from mediajobs.jobs.events import DecisionKind
from mediajobs.jobs.states import FindingKind, Reason
from mediajobs.pauses import PauseReason

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text()
BODIES = [json.loads(body) for body in re.findall(r"^\s*(?:.* -d \'|)(\{\".*\})\'?$", PAGE, re.MULTILINE)]


def rows(title: str) -> dict[str, str]:
    """The first table under a heading: first column without its marks, and the rest of the row."""
    (part,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return dict(re.findall(r"^\| `(\w+)`[^|]*\|(.*)\|$", part, re.MULTILINE))


def test_every_alarm_has_its_row() -> None:
    """Whoever gets the mail finds what to do under the alarm's name."""
    resources = Template.load(ROOT / "template.yaml", {}).document["Resources"]
    alarms = {name for name, each in resources.items() if each["Type"] == "AWS::CloudWatch::Alarm"}
    assert set(rows("Alarms")) == alarms


def test_every_reason_has_its_row_with_its_decisions() -> None:
    """A question is explained with all of its answers."""
    told = rows("Attention")
    assert set(told) == set(Reason)
    wanted = {
        Reason.AMBIGUOUS_SUBMISSION: {"adopt", "resubmit", "fail"},
        Reason.OVERDUE: {"wait", "fail"},
        Reason.PROVIDER_LOST: {"adopt", "fail"},
        Reason.RESULT_UNAVAILABLE: {"retry", "fail"},
        Reason.DEAD_LETTER: {"retry", "fail"},
    }
    for reason, decisions in wanted.items():
        last = told[reason].rpartition("|")[2]
        assert set(re.findall(r"`(\w+)`", last)) == decisions, reason
    assert all(f"`{kind}`" in PAGE for kind in FindingKind)


def test_every_pause_has_its_row() -> None:
    """What ends it differs."""
    assert set(rows("A paused provider")) == set(PauseReason)


def test_bodies_are_taken_by_the_api() -> None:
    """Each JSON in a command or beside it passes the API's own check."""
    decided = [schemas.checked(schemas.Resolve, body) for body in BODIES if "decision" in body]
    assert {each.decision for each in decided} == {*DecisionKind, "acknowledge"}
    changes = [schemas.checked(schemas.ProviderChange, body) for body in BODIES if {"pause", "limit"} & set(body)]
    assert len(changes) == 4


def test_commands_of_this_project_take_their_options() -> None:
    """A module that is named exists, and knows the options it is given."""
    named = re.findall(r"python -m (cli\.\w+)([^\n]*)", PAGE)
    assert {module for module, _ in named} >= {"cli.keys", "cli.publish", "cli.put_back"}
    for module, options in named:
        source = (ROOT / f"{module.replace('.', '/')}.py").read_text()
        for option in re.findall(r" (--[a-z-]+)", options):
            assert f'"{option}"' in source, f"{module} {option}"


def test_aws_commands_are_known_to_aws() -> None:
    """Service, operation and options of each are those of the API, and none that must be given is missing."""
    lines = re.findall(r"^ *(aws (?!s3 ).+)$", PAGE, re.MULTILINE)
    assert len(lines) >= 8
    for line in lines:
        _, service, operation, *words = shlex.split(line)
        client = boto3.client(service, region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")  # type: ignore[call-overload]
        name = client.meta.method_to_api_mapping[operation.replace("-", "_")]
        shape = client.meta.service_model.operation_model(name).input_shape
        options = {word for word in words if word.startswith("--")}
        known = {_option(member) for member in shape.members}
        assert options <= known, line
        assert {_option(member) for member in shape.required_members} <= options, line


def _option(member: str) -> str:
    """SecretString and patchOperations as the AWS CLI writes them."""
    return "--" + re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", member).lower()
