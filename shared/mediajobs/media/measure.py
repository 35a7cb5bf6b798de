"""What a walk learns of a file on its way: how wide, how high, how long."""

from __future__ import annotations

from dataclasses import dataclass, field

_MOST_PIXELS = 1 << 20  # on one side
_LONGEST_S = 30 * 86_400


@dataclass(slots=True)
class Measure:
    """None where the file does not say it in a place that is cheap to read. Nonsense counts as nothing."""

    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    crop: tuple[int, int] | None = None  # what is shown of a picture that was coded in whole blocks
    tracks: set[str] = field(default_factory=set)  # "video", "audio", "other": of containers that hold several

    def picture(self, width: int, height: int) -> None:
        """The largest one counts: previews and masks stand beside it."""
        if not (0 < width <= _MOST_PIXELS and 0 < height <= _MOST_PIXELS):
            return
        if self.width is None or self.height is None or width * height > self.width * self.height:
            self.width, self.height = width, height

    def lasts(self, units: float, per_second: float) -> None:
        """The longest told counts."""
        if per_second > 0 and 0 < units / per_second <= _LONGEST_S:
            self.duration_ms = max(self.duration_ms or 0, round(units * 1000 / per_second)) or None
