"""Print the commands that run one function by itself, with an event from events/.

`sam remote invoke` runs the deployed function on the laptop stack. `sam local invoke` runs it in a container against
the laptop stack: it needs Docker. For the latter, the environment of each deployed function is written to
build/<name>/env.json, since names of tables and queues are known only after a deploy.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local.stack import Stack, StackError
from local.stack.deploy import architecture, runtime
from local.stack.places import ROOT, write_json

EVENTS = ROOT / "events"
# Not events: what `sam local invoke --env-vars` takes.
NOT_EVENTS = ("env.json",)


def events(folder: Path = EVENTS) -> Iterator[tuple[str, Path]]:
    """Each event with the function it is for, as events/<function>/<case>.json has it."""
    for file in sorted(folder.glob("*/*.json")):
        if file.name not in NOT_EVENTS:
            yield file.parent.name.capitalize(), file


def environment(stack: Stack) -> dict[str, Any]:
    """What `--env-vars` takes: the variables of each deployed function, and where the emulator is."""
    functions = stack.client("lambda")
    return {
        name: functions.get_function_configuration(FunctionName=physical)["Environment"]["Variables"]
        | {
            "AWS_ENDPOINT_URL": stack.info["endpoint_url"],
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
        for name, physical in stack.info["functions"].items()
    }


def lines(stack: Stack, env_file: Path) -> Iterator[str]:
    """The commands, to be typed in the project's folder."""
    found = list(events())
    yield "# The deployed function, on the running laptop stack (this is what the tests do):"
    yield f"export AWS_ENDPOINT_URL={stack.info['endpoint_url']} AWS_DEFAULT_REGION={stack.info['region']}"
    yield "export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test PATH=$PWD/.venv/sam/bin:$PATH"
    for function, file in found:
        yield f"sam remote invoke {function} --stack-name {stack.info['stack_name']} --event-file {_shown(file)}"
    yield ""
    yield "# The same code in a container. This needs Docker, and was not run by those who wrote it: they had none."
    yield "# --docker-network host lets the container reach the emulator; that works on Linux, elsewhere write"
    yield f"# host.docker.internal for 127.0.0.1 in {_shown(env_file)} instead."
    yield f"sam build --parameter-overrides Runtime={runtime()} Architecture={architecture()}"
    for function, file in found:
        yield (
            f"sam local invoke {function} --event {_shown(file)} --env-vars {_shown(env_file)} --docker-network host "
            f"--parameter-overrides Runtime={runtime()} Architecture={architecture()}"
        )


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
    print("\n".join(lines(stack, env_file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
