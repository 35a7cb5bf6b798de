"""What a setting may hold: the types that the tables of `config.py` are made of."""

from __future__ import annotations

from typing import Annotated, Literal

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

Kind = Literal["video", "image", "audio"]
Word = Literal["running", "succeeded", "failed", "canceled", "gone"]


def _compiles(text: str) -> str:
    try:
        jmespath.compile(text)
    except JMESPathError as fault:
        reason = str(fault).splitlines()[0].rstrip(" :")
        raise ValueError(f"is not JMESPath: {reason}") from None
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}$")]
HeaderValue = Annotated[str, StringConstraints(pattern=r"^[!-~]([ -~]{0,498}[!-~])?$")]
UrlPath = Annotated[str, StringConstraints(pattern=r"^/[!-~]{0,500}$")]
Host = Annotated[str, StringConstraints(pattern=r"^(\*\.)?[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$")]
ExactHost = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?$")]
Expression = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_compiles)]
HttpStatus = Annotated[int, Field(ge=400, le=599)]
Seconds = Annotated[float, Field(gt=0, le=30 * 86400, allow_inf_nan=False)]
Bytes = Annotated[int, Field(ge=1, le=100 * 1024**3)]


class Table(BaseModel):
    """A TOML table: no unknown field, no value of another type turned into the right one."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
