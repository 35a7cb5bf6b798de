"""A download's memory does not grow with the file: in a process of its own, with all that the function loads."""

from __future__ import annotations

from bench.media.__main__ import FLAT_MIB, FUNCTION_MIB, MIB, run, server


def test_memory_of_a_download_is_flat_and_fits_the_function() -> None:
    """96 MiB, and three times as much at once; `make bench-media` prints the same up to 2 GiB."""
    with server("files") as files, server("sink") as sink:
        small, large, three = (
            run("store", files, sink, size * MIB, count)["peak"] / MIB for size, count in ((1, 1), (96, 1), (96, 3))
        )
    assert large - small < FLAT_MIB
    assert three - large < 2 * FLAT_MIB
    assert three < FUNCTION_MIB * 0.75
