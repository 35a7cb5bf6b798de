"""Are these bytes the media a job asked for? Told by content while they stream past, in constant memory. Pure.

Our own code: the libraries look at the first bytes only, and `filetype` 1.2 does not know MP4 files of the brands
iso5, iso6 and dash.
"""

from mediajobs.media.check import Checker, Media, Truncated

__all__ = ["Checker", "Media", "Truncated"]
