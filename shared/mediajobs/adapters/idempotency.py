"""Idempotency with Powertools: a record per name and key for handlers, and the job's own row for submit.

It is a second guard, never the only one: its records expire, and every effect is safe without them because the
transition is written under the version read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from aws_lambda_powertools.utilities.idempotency import (
    BasePersistenceLayer,
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyInconsistentStateError,
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
    IdempotencyPersistenceLayerError,
    IdempotencyValidationError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from mediajobs.errors import ConfigurationError, InProgress, MediaJobsError, Retryable, Unprocessable
from mediajobs.jobs.model import Job
from mediajobs.messages import Created
from mediajobs.ports import Store

HOUR_S = 3600
DAY_S = 24 * HOUR_S
# How long an answer is replayed: beyond a provider's retries, a dead-letter queue's patience, a schedule's repeats.
EXPIRES_S = {"intake": 3 * DAY_S, "publish": 7 * DAY_S, "reconcile": HOUR_S}


class Context(Protocol):
    """The Lambda context, as far as it matters: a run still in progress after this time was killed."""

    def get_remaining_time_in_millis(self) -> int: ...


class PowertoolsOnce:
    """Implements `ports.Once`. Call `register` at the start of each invocation."""

    def __init__(self, table: str, client: Any) -> None:
        self._table = table
        self._client = client
        self._context: Context | None = None
        # One layer and one configuration per name: a layer keeps those of its first use for ever.
        self._layers: dict[str, DynamoDBPersistenceLayer] = {}

    def register(self, context: Context) -> None:
        """Tell how much time this invocation has. Without it a killed run would block its key until the expiry."""
        self._context = context

    def __call__(self, name: str, key: Sequence[str], function: Callable[[], str]) -> str:
        """The answer of the one run for `key`. Its own exception passes and leaves the key free."""
        if not key or not all(key):
            raise ValueError(f"the key of {name!r} has an empty part: {list(key)!r}")
        failures: list[Exception] = []  # Powertools hides what was raised behind its own failure to clean up

        def run(*, key: list[str]) -> str:  # noqa: ARG001 Powertools reads it
            try:
                return function()
            except Exception as error:
                failures.append(error)
                raise

        guarded = idempotent_function(
            data_keyword_argument="key",
            persistence_store=self._layer(name),
            config=self._config(name),
            key_prefix=name,  # the default is the Lambda function's name, and two functions publish
        )(run)
        try:
            return str(guarded(key=list(key)) or "")
        except IdempotencyAlreadyInProgressError as error:
            raise InProgress(f"{name} is running for {list(key)!r}") from error
        except (IdempotencyPersistenceLayerError, IdempotencyInconsistentStateError) as error:
            if failures:
                raise failures[0] from error
            raise Retryable(f"{name}: {error}") from error

    def _layer(self, name: str) -> DynamoDBPersistenceLayer:
        if name not in self._layers:
            self._layers[name] = DynamoDBPersistenceLayer(table_name=self._table, boto3_client=self._client)
        return self._layers[name]

    def _config(self, name: str) -> IdempotencyConfig:
        if self._context is None:
            raise ConfigurationError("PowertoolsOnce.register(context) must be called in each invocation")
        return IdempotencyConfig(
            expires_after_seconds=EXPIRES_S[name],
            hash_function="sha256",
            use_local_cache=False,
            lambda_context=self._context,  # type: ignore[arg-type]
        )


def submit_once(store: Store, job: Job) -> tuple[Job, bool]:
    """Put `job`, or return the one that its key made before, and whether that was so.

    Raises Unprocessable where that one has another payload.
    """
    layer = SubmitLayer(store, job)

    def answer(*, request: dict[str, str]) -> str:
        return request["id"]

    guarded = idempotent_function(
        data_keyword_argument="request",
        persistence_store=layer,
        config=IdempotencyConfig(hash_function="sha256", lambda_context=_Untimed()),  # type: ignore[arg-type]
        key_prefix="submit",
    )(answer)
    try:
        guarded(request={"id": job.id})
    except IdempotencyValidationError as error:
        raise Unprocessable(
            "This Idempotency-Key was used with another payload. Use a new key for a new job.",
        ) from error
    except IdempotencyPersistenceLayerError as error:
        if isinstance(error.__cause__, MediaJobsError):
            raise error.__cause__ from None
        raise
    if layer.standing is None:
        raise ConfigurationError("Remove POWERTOOLS_IDEMPOTENCY_DISABLED: without idempotency no job can be put.")
    return layer.standing, layer.replayed


class SubmitLayer(BasePersistenceLayer):
    """The job's head is the record: its conditional put protects, and no unit is spent on another one.

    A head that exists is a finished submit, whoever died after putting it; so there is no "in progress", and nothing
    to update or delete. The base class does not compare payloads on this path: the digests are compared here.
    """

    def __init__(self, store: Store, job: Job) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._store = store
        self._job = job
        self.standing: Job | None = None
        self.replayed = False

    def _put_record(self, data_record: DataRecord) -> None:
        outcome = self._store.create(self._job)
        self.standing = outcome.job
        if isinstance(outcome, Created):
            return
        self.replayed = True
        raise IdempotencyItemAlreadyExistsError(old_data_record=self._record(data_record.idempotency_key, outcome.job))

    def _get_record(self, idempotency_key: str) -> DataRecord:
        job = self._store.load(self._job.id)
        if job is None:
            raise IdempotencyItemNotFoundError
        self.standing = job
        return self._record(idempotency_key, job)

    def _update_record(self, data_record: DataRecord) -> None:
        """The head says everything already."""

    def _delete_record(self, data_record: DataRecord) -> None:
        """An exception after the put must not delete the job."""

    def _record(self, key: str, job: Job) -> DataRecord:
        if job.payload_digest != self._job.payload_digest:
            raise IdempotencyValidationError("another payload under the same key")
        return DataRecord(idempotency_key=key, status="COMPLETED", response_data=json.dumps(job.id))


class _Untimed:
    """Powertools asks how long a run may be in progress; a submit never is."""

    def get_remaining_time_in_millis(self) -> int:
        return 1
