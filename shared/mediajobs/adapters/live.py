"""AppSync Events behind `ports.Live`: one signed POST per event, to whoever subscribed to the channel."""

from __future__ import annotations

import json

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from mediajobs.clock import Clock
from mediajobs.errors import ConfigurationError, MediaJobsError, NoAnswer, NotSent, Retryable
from mediajobs.messages import Request, Response
from mediajobs.ports import Http

# An idle connection may have died while the function was frozen, so even a tick is sent a second time at once.
TRIES = 2
LAST_TRIES = 3
QUIET_MS = 5_000


class NoLive:
    """Implements `ports.Live` where no Events API is given."""

    def publish(self, channel: str, event: str, *, last: bool) -> None:
        """Nobody can listen."""


class EventsApi:
    """Implements `ports.Live`.

    An API that does not take an event is left alone for some seconds: ticks are dropped meanwhile, and a last event is
    tried once, so that an outage there costs the functions next to nothing.
    """

    def __init__(self, url: str, http: Http, clock: Clock, session: boto3.Session | None = None) -> None:
        self._url = f"{url}/event"
        self._http = http
        self._session = session or boto3.Session()
        self._clock = clock
        self._quiet_until = 0

    def publish(self, channel: str, event: str, *, last: bool) -> None:
        quiet = self._clock.now() < self._quiet_until
        if quiet and not last:
            raise Retryable("the Events API failed a moment ago")
        body = json.dumps({"channel": channel, "events": [event]}).encode()
        failure: MediaJobsError = Retryable("not tried")
        for number in range(1 if quiet else LAST_TRIES if last else TRIES):
            if number > 1:
                self._clock.sleep(0.2)
            try:
                _check(self._http.get(self._signed(body)))
            except (NotSent, NoAnswer, Retryable) as error:
                failure = error
            else:
                return
        self._quiet_until = self._clock.now() + QUIET_MS
        raise Retryable(f"publish to the Events API: {failure}")

    def _signed(self, body: bytes) -> Request:
        credentials = self._session.get_credentials()
        if credentials is None:
            raise ConfigurationError("There are no AWS credentials to publish live events with.")
        request = AWSRequest("POST", self._url, {"Content-Type": "application/json"}, body)
        SigV4Auth(credentials.get_frozen_credentials(), "appsync", self._session.region_name).add_auth(request)
        return Request(method="POST", url=self._url, headers=dict(request.headers.items()), body=body)


def _check(answer: Response) -> None:
    """Raise where the event was not taken."""
    if answer.status in (401, 403):
        raise ConfigurationError(f"publish to the Events API: {answer.status}. This function's role does not allow it.")
    if answer.status >= 500 or answer.status == 429:
        raise Retryable(f"status {answer.status}")
    if answer.status >= 300:
        raise MediaJobsError(f"publish to the Events API: {answer.status}")
    try:
        failed = json.loads(answer.body)["failed"]
    except (ValueError, KeyError, TypeError):
        raise MediaJobsError("publish to the Events API: an answer of another form") from None
    if failed:
        raise MediaJobsError(f"publish to the Events API: {str(failed)[:200]}")
