"""Print the commands that run one function by itself, with an event from events/.

`sam remote invoke` runs the deployed function on the laptop stack. `sam local invoke` runs it in a container against
the laptop stack: it needs Docker. For the latter, the environment of each deployed function is written to
build/<name>/env.json: events/env.json shows the variables, but the names of tables and queues are known only after a
deploy.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from local.stack import Stack, StackError
from local.stack.deploy import architecture, runtime
from local.stack.places import ROOT, write_json

EVENTS = ROOT / "events"
# The case that is shown of each function, in an order in which each finds what it needs.
SHOWN = {
    "submit": "happy",
    "jobs": "get",
    "relay": "dispatch",
    "dispatch": "submit",
    "store": "past",
    "reconcile": "tick",
    "webhook": "completed",
    "authorize": "unknown-key",
    "notify": "nobody",
}
ABOUT = """
# events/expected.json says of each event what must stand in the table before and what comes of it.
# submit/happy makes the job that jobs/get, relay/dispatch and dispatch/submit are about. The events of webhook are
# signed for one fixed moment, with a secret of their own: a deployed function answers 401. authorize/user-key brings
# a key that this stack does not know.
""".strip()


def cases(function: str) -> list[str]:
    """The names of a function's events, the shown one first."""
    names = sorted(file.stem for file in (EVENTS / function).glob("*.json"))
    return [SHOWN[function], *(name for name in names if name != SHOWN[function])]


def environment(stack: Stack) -> dict[str, Any]:
    """What `--env-vars` takes: the variables of each deployed function, and where the emulator is."""
    functions = stack.client("lambda")
    return {
        name: functions.get_function_configuration(FunctionName=physical)["Environment"]["Variables"]
        | {
            "AWS_ENDPOINT_URL": stack.info["endpoint_url"],
            "AWS_DEFAULT_REGION": stack.info["region"],
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        for name, physical in stack.info["functions"].items()
    }


def lines(info: Mapping[str, Any], env_file: Path) -> Iterator[str]:
    """The commands, to be typed in the project's folder."""
    yield ABOUT
    yield ""
    yield "# The deployed function, on the running laptop stack (the end-to-end tests do this):"
    yield f"export AWS_ENDPOINT_URL={info['endpoint_url']} AWS_DEFAULT_REGION={info['region']}"
    yield "export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test PATH=$PWD/.venv/sam/bin:$PATH"
    for function in SHOWN:
        first, *others = cases(function)
        command = f"sam remote invoke {function.capitalize()} --stack-name {info['stack_name']}"
        yield f"{command} --event-file events/{function}/{first}.json"
        yield f"#   events/{function}/ also has: {' '.join(others)}"
    yield ""
    yield "# The same code in a container. This needs Docker, and was not run by those who wrote it: they had none."
    yield "# --docker-network host lets the container reach the emulator; that works on Linux, elsewhere write"
    yield f"# host.docker.internal for 127.0.0.1 in {_shown(env_file)} instead."
    parameters = f"--parameter-overrides Runtime={runtime()} Architecture={architecture()}"
    yield f"sam build {parameters}"
    for function, case in SHOWN.items():
        command = f"sam local invoke {function.capitalize()} --event events/{function}/{case}.json"
        yield f"{command} --env-vars {_shown(env_file)} --docker-network host {parameters}"


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m local.sam_local", description=__doc__)
    parser.add_argument("--name", default="local", help="the laptop stack to run against (local)")
    try:
        stack = Stack.running(parser.parse_args().name)
    except StackError as error:
        print(error, file=sys.stderr)
        return 1
    env_file = stack.place.home / "env.json"
    write_json(env_file, environment(stack), private=True)
    print("\n".join(lines(stack.info, env_file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
