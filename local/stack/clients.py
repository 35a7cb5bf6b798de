"""boto3 clients for the emulator that know nothing of the AWS profiles of this machine."""

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import boto3
import botocore.config
import botocore.session

from local.stack.emulator import REGION

Clients = Callable[[str], Any]


def clients(endpoint_url: str) -> Clients:
    """A function that gives the client of a service, the same one each time."""
    plain = botocore.session.Session(
        session_vars={
            "profile": (None, None, None, None),
            "config_file": (None, None, os.devnull, None),
            "credentials_file": (None, None, os.devnull, None),
        }
    )
    session = boto3.Session("test", "test", region_name=REGION, botocore_session=plain)
    # A run of reconcile takes most of a minute, and its caller waits for it.
    config = botocore.config.Config(
        proxies={}, max_pool_connections=20, read_timeout=120, s3={"addressing_style": "path"}
    )

    @cache
    def client(service: str) -> Any:
        return session.client(service, endpoint_url=endpoint_url, config=config)  # type: ignore[call-overload]

    return client
