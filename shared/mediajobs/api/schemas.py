"""What a request may say, field by field. The only place with pydantic among the functions: submit and jobs."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from mediajobs.api import bodies
from mediajobs.errors import Unprocessable
from mediajobs.steps.jobs import Resolution
from mediajobs.steps.submit import START_WITHIN_S, Submission
from mediajobs.uploads import content_types

METADATA_PAIRS = 16
METADATA_BYTES = 2048
LEAST_START_S, MOST_START_S = 60, 604_800
_SHOWN = 20

Name = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Model = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ProviderJobId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[!-~]+$")]


class _Strict(BaseModel):
    """No field is guessed: a misspelt one is an error, and "1" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Submit(_Strict):
    """One user action to be carried out at a provider."""

    provider: Name = Field(description="A configured provider.")
    model: Model = Field(description="One of its models.")
    input: dict[str, Any] = Field(
        description=(
            "What the provider's model takes; passed on as it is, with a URL in the place of every text "
            '"upload:<name>".'
        )
    )
    metadata: dict[str, str] = Field(
        default_factory=dict,
        max_length=METADATA_PAIRS,
        description=f"Your own words, given back with the job: up to {METADATA_PAIRS} pairs, {METADATA_BYTES} bytes.",
    )
    start_within: int | None = Field(
        default=None,
        ge=LEAST_START_S,
        le=MOST_START_S,
        description="Seconds after which a job that was never submitted fails as expired_in_queue; 24 hours if absent.",
    )

    @field_validator("metadata")
    @classmethod
    def _fits(cls, metadata: dict[str, str]) -> dict[str, str]:
        size = sum(len(word.encode("utf-8", "surrogatepass")) for pair in metadata.items() for word in pair)
        if size > METADATA_BYTES:
            raise PydanticCustomError("too_long", "May have {most} bytes in all", {"most": METADATA_BYTES})
        return metadata


class NewUpload(_Strict):
    """One file that is to be handed in."""

    content_type: str = Field(
        description="What the file is; its content has to agree.", json_schema_extra={"enum": list(content_types())}
    )

    @field_validator("content_type")
    @classmethod
    def _known(cls, content_type: str) -> str:
        if content_type not in content_types():
            raise PydanticCustomError("unknown", "May be one of: {types}", {"types": ", ".join(content_types())})
        return content_type


class Resolve(_Strict):
    """An operator's answer to a job's open question, or to a finding."""

    decision: Literal["adopt", "resubmit", "fail", "wait", "retry", "acknowledge"] = Field(
        description="resubmit may charge again; acknowledge ends a finding, the others answer the question."
    )
    attention_version: int | None = Field(
        default=None, ge=1, description="attention.version of the question; needed for all but acknowledge."
    )
    provider_job_id: ProviderJobId | None = Field(
        default=None, description="The provider's job to adopt, or that the finding names; only then."
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.decision != "acknowledge" and self.attention_version is None:
            raise PydanticCustomError("missing", "attention_version is needed: name the question that you answer")
        named = self.decision in ("adopt", "acknowledge")
        if named and self.provider_job_id is None:
            raise PydanticCustomError("missing", "provider_job_id is needed for adopt and acknowledge")
        if not named and self.provider_job_id is not None:
            raise PydanticCustomError("extra", "provider_job_id belongs to adopt and acknowledge only")
        return self


class ProviderChange(_Strict):
    """An operator's hand on a provider. What is left out stays as it is."""

    pause: bool | None = Field(default=None, description="true: submit nothing until false is sent.")
    limit: int | None = Field(
        default=None, ge=0, le=900, description="Jobs in flight at most, never more than configured; 0: as configured."
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.pause is None and self.limit is None:
            raise PydanticCustomError("missing", "Give pause, limit or both")
        return self


class CallbackChange(_Strict):
    """Where a tenant is to hear of its jobs."""

    url: Annotated[str, StringConstraints(min_length=1, max_length=2048)] = Field(
        description="https, at a public address. Whoever is there is sent a challenge first."
    )


class Rotation(_Strict):
    """A new secret for a tenant's callbacks."""

    overlap_s: int = Field(
        default=86_400,
        ge=0,
        le=604_800,
        description="Seconds for which events are signed with the old secrets too; 0 ends those at once.",
    )


class Listing(_Strict):
    """The query of a list, once its words are read."""

    limit: int = Field(default=20, ge=1, le=100)
    cursor: Annotated[str, StringConstraints(min_length=1, max_length=2048)] | None = None
    attention: bool = False


M = TypeVar("M", bound=BaseModel)


def submission(body: dict[str, Any]) -> Submission:
    """The command to submit. Its digest covers everything that makes a payload the same payload."""
    fields = checked(Submit, body)
    item = {"input": fields.input, "metadata": fields.metadata}
    whole = item | {"provider": fields.provider, "model": fields.model, "start_within": fields.start_within}
    return Submission(
        provider=fields.provider,
        model=fields.model,
        body=bodies.canonical(item),
        digest=hashlib.sha256(bodies.canonical(whole)).digest(),
        start_within_s=START_WITHIN_S if fields.start_within is None else fields.start_within,
    )


def resolution(body: dict[str, Any]) -> Resolution:
    """The command to resolve."""
    fields = checked(Resolve, body)
    return Resolution(
        kind=fields.decision,
        attention_version=fields.attention_version,
        provider_job_id=fields.provider_job_id,
    )


def checked(model: type[M], value: dict[str, Any]) -> M:
    """The value as `model`, or 422 that names each wrong field. Never repeats what was sent."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
    errors = [
        {"field": ".".join(map(str, one["loc"]))[:120] or "body", "message": one["msg"][:300]} for one in found[:_SHOWN]
    ]
    names = ", ".join(dict.fromkeys(one["field"] for one in errors))
    raise Unprocessable(f"Wrong: {names}. See errors.", errors=errors)
