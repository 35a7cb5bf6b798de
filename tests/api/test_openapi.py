"""The API's description is what the code does, and what the template routes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import openapi
from mediajobs import errors
from mediajobs.api.routes import ROUTES, Route

ROOT = Path(__file__).resolve().parents[2]


def test_the_kept_description_is_what_the_code_says() -> None:
    """Run `make openapi` after a change of the API, and look at the difference."""
    assert openapi.KEPT.read_text(encoding="utf-8") == openapi.text()


def test_check_tells_a_stale_description_by_its_exit(tmp_path: Path) -> None:
    """So that a build stops."""

    def exit_of(*options: str) -> int:
        command = [sys.executable, "-m", "cli.openapi", "--file", str(tmp_path / "openapi.json"), *options]
        environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True).returncode

    assert exit_of("--check") == 1
    assert exit_of() == 0
    assert exit_of("--check") == 0
    (tmp_path / "openapi.json").write_text("{}", encoding="utf-8")
    assert exit_of("--check") == 1


def references(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(references, node.values()))
    return set().union(*map(references, node)) if isinstance(node, list) else set()


def test_every_reference_leads_somewhere() -> None:
    """And nothing that is described is left unused."""
    document = json.loads(openapi.text())
    components = document["components"]
    for reference in references(document):
        _, _, kind, name = reference.split("/")
        assert name in components[kind], reference
    used = {reference.split("/")[-1] for reference in references(document)}
    for kind in ("parameters", "headers", "responses", "schemas"):
        assert set(components[kind]) <= used, kind


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_every_route_describes_all_it_answers(route: Route) -> None:
    """Path parameters too, and who may call it."""
    operation = json.loads(openapi.text())["paths"][route.path][route.method.lower()]
    statuses = {int(status) for status in operation["responses"]}
    assert statuses == {*route.answers, *route.problems}
    assert {429, 500, 503} <= statuses
    # A wrong token of an input says no more than a wrong name.
    assert 401 in statuses or route.path.startswith("/v1/inputs/")
    if route.body:
        assert {400, 413, 422} <= statuses
    named = set(re.findall(r"\{(\w+)\}", route.path))
    parameters = [openapi.PARAMETERS[name] for name in route.parameters]
    assert named == {parameter["name"] for parameter in parameters if parameter["in"] == "path"}
    assert (operation.get("security") == []) == (not route.secured)


def test_every_problem_type_is_named_where_it_occurs() -> None:
    """A client writes its code against these."""
    responses = json.loads(openapi.text())["components"]["responses"]
    for kind in errors.Problem.__subclasses__():
        if f"Problem{kind.status}" in responses:
            assert f"`urn:mediajobs:problem:{kind.slug}`" in responses[f"Problem{kind.status}"]["description"]


class Template(yaml.SafeLoader):
    """Reads CloudFormation's short functions as whatever they are given."""


Template.add_multi_constructor("!", lambda loader, _, node: _plain(loader, node))


def _plain(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    assert isinstance(node, yaml.MappingNode)
    return loader.construct_mapping(node, deep=True)


def test_the_template_routes_exactly_these() -> None:
    """Each to its function, with the authorizer wherever a caller is needed."""
    template = yaml.load((ROOT / "template.yaml").read_text(encoding="utf-8"), Template)
    routed = set()
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        function = str(resource["Properties"]["CodeUri"]).rstrip("/").rpartition("/")[2]
        for event in (resource["Properties"].get("Events") or {}).values():
            if event["Type"] == "Api":
                is_open = event["Properties"].get("Auth", {}).get("Authorizer") == "NONE"
                routed.add((event["Properties"]["Method"].upper(), event["Properties"]["Path"], function, not is_open))
    assert routed == {(route.method, route.path, route.function, route.secured) for route in ROUTES}
