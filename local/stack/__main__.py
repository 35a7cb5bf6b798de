"""Start, change, show and stop the laptop stack: python -m local.stack {up,down,redeploy,logs,status}."""

import argparse
import os
import sys
import time
from pathlib import Path

from local.stack.places import Place, StackError, read_json, tail
from local.stack.processes import Processes, exclusive
from local.stack.stack import Stack, guard, take_down
from local.stack.start import FAULTS, LEAST_IN_FLIGHT, PROVIDERS, Wanted
from local.told import told


def _up(options: argparse.Namespace) -> None:
    place = Place(options.name)
    if "ministack" in Processes(place).alive() and place.info.exists():
        _show(read_json(place.info))
        raise StackError(
            f"The stack {options.name!r} was already running; this is it. "
            "make redeploy deploys what changed, make down ends it."
        )
    wanted = Wanted(options.providers.resolve(), options.max_in_flight, options.seed, options.faults)
    _show(Stack.start(options.name, wanted, attached=False).info)


def _show(info: dict[str, object]) -> None:
    home = Place(str(info["name"]))
    print()
    for name in ("api_url", "api_key", "operator_key", "provider_url", "endpoint_url"):
        print(f"  {name:13} {info[name]}")
    print(f"\n  and more in {home.shown(home.info)}\n")


def _down(options: argparse.Namespace) -> None:
    names = [options.name]
    if options.all:
        names = sorted(kept.parent.name for kept in Place("local").base.glob("*/processes.json"))
    for name in names:
        ended = take_down(name)
        print(f"stack {name}: " + (f"stopped {', '.join(ended)}" if ended else "was not running"))


def _redeploy(options: argparse.Namespace) -> None:
    stack = Stack.running(options.name)
    with exclusive(stack.place):
        stack.redeploy()
    _show(stack.info)


def _status(options: argparse.Namespace) -> None:
    alive = Processes(Place(options.name)).alive()
    for name, pid in alive.items():
        print(f"{name:10} {pid}")
    if not alive:
        raise StackError(f"No stack {options.name!r} is running; make up starts one.")
    _show(Stack.running(options.name).info)


def _logs(options: argparse.Namespace) -> None:
    stack = Stack.running(options.name)
    logs = stack.client("logs")
    since = int((time.time() - 60 * options.minutes) * 1000)
    for name, function in stack.info["functions"].items():
        group = stack.client("lambda").get_function_configuration(FunctionName=function)["LoggingConfig"]["LogGroup"]
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=since)
        said = (event["message"].rstrip() for page in pages for event in page["events"])
        lines = [line for line in said if not line.startswith(("START ", "END "))]
        for line in lines[-options.lines :]:
            print(f"{name:9} | {line}")
    print(tail(stack.place.log("ministack"), options.lines))


def _in_flight(text: str) -> int:
    if not text.isdecimal() or int(text) < LEAST_IN_FLIGHT:
        raise argparse.ArgumentTypeError(f"a whole number of {LEAST_IN_FLIGHT} or more is needed, not {text!r}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.stack", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", prog="make up", help="start it and leave it running")
    up.add_argument("--providers", type=Path, default=PROVIDERS, help="provider configuration")
    up.add_argument("--max-in-flight", type=_in_flight, default=4, help="jobs at one provider at once")
    up.add_argument("--seed", type=int, default=1, help="which faults the simulated provider makes")
    up.add_argument("--faults", choices=FAULTS, default="none")
    down = commands.add_parser("down", help="stop it and remove what it kept")
    down.add_argument("--all", action="store_true", help="every stack in build/")
    commands.add_parser("redeploy", help="build and deploy again; jobs and keys stay")
    logs = commands.add_parser("logs", help="what functions and emulator logged last")
    logs.add_argument("--minutes", type=float, default=15, help="how far back (15)")
    logs.add_argument("--lines", type=int, default=40, help="how many lines of each (40)")
    commands.add_parser("status", help="what of it runs")
    commands.add_parser("guard", help="(used by the stack itself)")
    for command in commands.choices.values():
        command.add_argument("--name", default="local", help="which stack, if there are several (local)")
    return parser


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command and its options; `up` takes make's variables too."""
    up = told(os.environ, "PROVIDERS", "MAX_IN_FLIGHT", "SEED", "FAULTS") if arguments[:1] == ["up"] else []
    return _parser().parse_args([*arguments[:1], *up, *arguments[1:]])


def main() -> int:
    options = parse(sys.argv[1:])
    run = {"up": _up, "down": _down, "redeploy": _redeploy, "logs": _logs, "status": _status}
    try:
        if options.command == "guard":
            guard(options.name)
        else:
            run[options.command](options)
    except StackError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
