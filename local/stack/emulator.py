"""MiniStack, the AWS emulator, in a virtual environment of its own."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.request import OpenerDirector, ProxyHandler, build_opener

from local.setup import directory
from local.stack.places import Place, StackError, tail
from local.stack.processes import Processes

REGION = "us-east-1"
_READY_S = 30.0
_SERVE = Path(__file__).with_name("serve.py")


def server_environment(place: Place, port: int) -> dict[str, str]:
    """All that the emulator, and so every function it runs, sees of this machine.

    A list of what is let through, not of what is kept out: functions inherit it whole, so AWS_ENDPOINT_URL or a profile
    of yours must not be in it.
    """
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "LC_ALL", "TZ") if name in os.environ}
    return kept | {
        "PATH": f"{directory('ministack') / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": str(place.emulator / "tmp"),
        "STATE_DIR": str(place.emulator / "state"),
        "S3_DATA_DIR": str(place.emulator / "s3"),
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        # The host in presigned URLs; "localhost" may be ::1 first, where nobody listens.
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        # A profile of yours must not change how a function works.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "LAMBDA_EXECUTOR": "local",
        # Who publishes and who listens is checked, as on AWS.
        "APPSYNC_EVENTS_ENFORCE_AUTH": "1",
        # Two listeners on fixed ports that this product does not need.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
    }


def plain_environment() -> dict[str, str]:
    """This process's environment without any AWS setting, for our own servers."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SAM_"))}


def client_environment(port: int) -> dict[str, str]:
    """This process's environment, for a command that speaks to the emulator and to no account of yours."""
    kept = {name: value for name, value in plain_environment().items() if not name.startswith("PYTHON")}
    return kept | {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def opener() -> OpenerDirector:
    """An opener without the proxies that the environment names: everything here is on this machine."""
    return build_opener(ProxyHandler({}))


def start(place: Place, processes: Processes, port: int) -> None:
    """Return once the emulator answers on the port."""
    for folder in ("tmp", "state", "s3"):
        (place.emulator / folder).mkdir(parents=True, exist_ok=True)
    (site_packages,) = (directory("sam") / "lib").glob("python3*/site-packages")
    command = [str(directory("ministack") / "bin" / "python"), "-P", str(_SERVE), str(site_packages)]
    processes.start("ministack", command, server_environment(place, port))
    wait_until_healthy(place, processes, "ministack", f"http://127.0.0.1:{port}/_ministack/health")


def wait_until_healthy(place: Place, processes: Processes, name: str, url: str) -> None:
    """Return once the URL answers 200; raise with the end of the log when the process ends or takes too long."""

    def answers() -> bool:
        with opener().open(url, timeout=2) as answer:
            return bool(answer.status == 200)

    _wait(place, processes, name, answers)


def wait_until_listening(place: Place, processes: Processes, name: str, port: int) -> None:
    """Return once somebody accepts connections on the port."""

    def accepts() -> bool:
        with socket.create_connection(("127.0.0.1", port), timeout=2):
            return True

    _wait(place, processes, name, accepts)


def _wait(place: Place, processes: Processes, name: str, ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        with suppress(OSError):
            if ready():
                return
        processes.require(name)
        time.sleep(0.05)
    raise StackError(f"{tail(place.log(name))}\n\nThe {name} was not ready within {_READY_S:.0f} s.")
