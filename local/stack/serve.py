"""Run the emulator with the SAM translator within its reach but out of reach of the functions it runs.

MiniStack expands AWS::Serverless with the package aws-sam-translator, which needs pydantic. Installed beside MiniStack,
pydantic would be visible to every function and hide that the layer lacks it. So it is borrowed from the environment of
AWS SAM CLI, by a finder in this process alone: functions are processes of their own and inherit nothing of it.

    .venv/ministack/bin/python -P local/stack/serve.py <site-packages of .venv/sam>

Runs in the emulator's environment, so it imports nothing of ours.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# The translator and what it imports, less what the emulator has itself (boto3 and its company come first anyway).
BORROWED = frozenset(
    {
        "annotated_types", "attr", "attrs", "jsonschema", "jsonschema_specifications", "pydantic", "pydantic_core",
        "referencing", "rpds", "samtranslator", "typing_extensions", "typing_inspection",
    }
)  # fmt: skip


class Borrower(MetaPathFinder):
    """Finds the borrowed packages, and nothing else, in another environment."""

    def __init__(self, site_packages: str) -> None:
        self._site_packages = site_packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None and fullname in BORROWED:
            return PathFinder.find_spec(fullname, [self._site_packages], target)
        return None


def ask_by_mode(events: Any) -> None:
    """MiniStack 1.5.33 asks an Events API's Lambda authorizer about everything. AWS asks it only where the namespace's
    mode for this operation is AWS_LAMBDA; ours publish by IAM, with a signature in place of a token.
    """
    ask_the_function = events._authorize_event_op  # noqa: SLF001

    async def authorize(
        api_id: str, channel: str | None, operation: str, auth: Any, request_headers: Any = None
    ) -> tuple[bool, str | None]:
        modes = events._operation_auth_modes(api_id, channel, operation)  # noqa: SLF001
        if "AWS_LAMBDA" in modes:
            answer: tuple[bool, str | None] = await ask_the_function(api_id, channel, operation, auth, request_headers)
            return answer
        accepted, message = events._modes_accept(api_id, modes, auth)  # noqa: SLF001
        return accepted, message or "You are not authorized to make this call."

    events._authorize_event_op = authorize  # noqa: SLF001


if __name__ == "__main__":
    # Last: what the emulator's own environment has is found there.
    sys.meta_path.append(Borrower(sys.argv.pop(1)))
    from ministack.app import main  # type: ignore[import-not-found]  # not in the environment of the type checker
    from ministack.services import appsync_events  # type: ignore[import-not-found]

    ask_by_mode(appsync_events)
    main()
