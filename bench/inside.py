"""Runs inside a function's own process, in place of the Lambda runtime: requests come in by lines, answers go out so.

Started with no import path but the standard library's, so that nothing is found that a function on Lambda would miss.
"""

import io
import json
import os
import sys
import traceback


class Clock:
    """Time as each request gives it; waiting moves it."""

    def __init__(self) -> None:
        self.time = 0

    def now(self) -> int:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += max(0, round(seconds * 1000))


class Context:
    """What Lambda tells a handler of its invocation."""

    def __init__(self, name: str, request_id: str, remaining_ms: int) -> None:
        self.function_name = name
        self.aws_request_id = request_id
        self.memory_limit_in_mb = 256
        self.invoked_function_arn = f"arn:aws:lambda:us-east-1:000000000000:function:{name}"
        self._remaining_ms = remaining_ms

    def get_remaining_time_in_millis(self) -> int:
        return self._remaining_ms


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    said = sys.stdout = io.StringIO()
    name, *paths = sys.argv[1:]
    sys.path[:0] = paths
    import app  # type: ignore[import-not-found]  # of the function's folder

    clock = Clock()
    handler = app.handler.at(clock)
    print(json.dumps({"modules": sorted(sys.modules)}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "event" not in request:
            print(json.dumps({"modules": sorted(sys.modules)}), file=answers, flush=True)
            continue
        clock.time = request["now"]
        context = Context(name, request["request_id"], request["remaining_ms"])
        reply = {}
        try:
            reply["answer"] = handler(request["event"], context)
        except Exception as error:  # noqa: BLE001 as Lambda does, which then answers for the function
            reply["error"] = str(error)
            reply["stack"] = traceback.format_exc()
        reply["output"] = said.getvalue().splitlines()
        said.seek(0)
        said.truncate()
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
