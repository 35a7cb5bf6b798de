"""What a provider takes of files that callers hand in: the table `inputs`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mediajobs.adapters.providers.fields import Table
from mediajobs.uploads import LIMITS, MOST_DIRECT


class InputBytes(Table):
    """How large one file of an input may be."""

    video: Annotated[int, Field(ge=1, le=LIMITS["video"])] = Field(
        default=LIMITS["video"], description="bytes of a video at most (200 MiB, which is also the most to be set)"
    )
    image: Annotated[int, Field(ge=1, le=LIMITS["image"])] = Field(
        default=LIMITS["image"], description="bytes of an image at most (20 MiB, the same)"
    )
    audio: Annotated[int, Field(ge=1, le=LIMITS["audio"])] = Field(
        default=LIMITS["audio"], description="bytes of a recording at most (50 MiB, the same)"
    )


class Inputs(Table):
    """Files of an input that were uploaded here."""

    redirects: bool = Field(
        default=True,
        description="false where the provider follows no redirect when it reads a file; one may have 4 MiB then",
    )
    max_bytes: InputBytes = Field(default=InputBytes(), description="a table of limits: video, image, audio")

    def limit(self, kind: str) -> int:
        """The most bytes of a file of this kind."""
        most = int(getattr(self.max_bytes, kind))
        return most if self.redirects else min(most, MOST_DIRECT)
