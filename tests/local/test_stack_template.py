"""The reader of template.yaml understands the intrinsic functions that repairs depend on."""

from pathlib import Path

import pytest

from local.stack.template import Template

TEXT = """
Parameters:
  Size: {Type: Number, Default: 10}
  Flag: {Type: String, Default: "true"}
Conditions:
  IsOn: !Equals [!Ref Flag, "true"]
  IsTen: !Equals [!Ref Size, 10]
  Both: !And [!Condition IsOn, !Condition IsTen]
  Either: !Or [!Condition IsOn, !Condition IsTen]
  IsOff: !Not [!Condition IsOn]
Resources:
  Thing:
    Type: Test::Thing
    Properties:
      Sized: !Ref Size
      Arn: !GetAtt Other.Arn.Deep
      Text: !Sub "${Size} of ${Other}"
      Chosen: !If [Both, both, !If [Either, either, neither]]
      Sometimes: !If [IsOn, 1, !Ref AWS::NoValue]
      Inside: {Kept: 1, Gone: !If [IsOn, !Ref AWS::NoValue, 2]}
      Listed: [!Ref Size, !If [IsOn, !Ref AWS::NoValue, 2], 2012-10-17]
  Other:
    Type: Test::Other
    Condition: IsOff
"""


@pytest.fixture
def load(tmp_path: Path) -> Path:
    file = tmp_path / "template.yaml"
    file.write_text(TEXT)
    return file


def test_defaults_stand_where_nothing_is_given(load: Path) -> None:
    """Parameters take their defaults, conditions follow, NoValue leaves a property out wherever it stands."""
    thing = Template.load(load, {})
    assert thing.wanted("Thing", "Sized") == 10
    assert thing.wanted("Thing", "Chosen") == "both"
    assert thing.wanted("Thing", "Sometimes") == 1
    assert thing.wanted("Thing", "Inside") == {"Kept": 1}
    assert thing.wanted("Thing", "Listed") == [10, "2012-10-17"]
    assert set(thing.resources) == {"Thing"}


def test_given_values_win(load: Path) -> None:
    """What `sam deploy` is told decides, as text."""
    thing = Template.load(load, {"Size": "11", "Flag": "false"})
    assert thing.wanted("Thing", "Sized") == "11"
    assert thing.wanted("Thing", "Chosen") == "neither"
    assert thing.wanted("Thing", "Sometimes") is None
    assert thing.wanted("Thing", "Missing") is None
    assert set(thing.resources) == {"Thing", "Other"}


def test_number_given_as_text_equals_the_number(load: Path) -> None:
    """CloudFormation compares text; 10 in YAML is "10"."""
    assert Template.load(load, {"Size": "10"}).wanted("Thing", "Chosen") == "both"


def test_what_only_the_cloud_knows_stays_a_reference(load: Path) -> None:
    """An ARN is not guessed."""
    thing = Template.load(load, {})
    assert thing.wanted("Thing", "Arn") == {"Fn::GetAtt": ["Other", "Arn.Deep"]}
    assert thing.wanted("Thing", "Text") == {"Fn::Sub": "${Size} of ${Other}"}
