"""
How the work of a kernel is cut into programs.

The numbers are reasoned from bytes, registers and shared memory, and have not been measured yet. Every side of a tile
that enters a product is 16 or more, which Triton demands.
"""

from dataclasses import dataclass

#: programs that a launch should have at least: about as many as a large GPU has processors
_PROGRAMS = 128

#: Columns of one row that a program of a kernel without products works on: no fewer than it has threads, so that no
#: two threads hold the same element.
MIN_PIECE = 128
_MAX_PIECE = 512


@dataclass(frozen=True)
class Tile:
    """
    The share of one program.

    # Parameters

    rows, columns : of the result; of each gate, where those are four.
    depth : terms of the sums that are loaded at once.
    warps, stages : threads in groups of 32, and loads that are under way.
    """

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int


def gates_tile(rows: int, cells: int, width: int) -> Tile:
    """
    Return the tile of the recurrent product with its gates.

    # Parameters

    rows : running rows at most.
    cells, width : of the layer.
    """
    height = _height(rows)
    columns = 32 if cells >= 2048 or height > 16 else 16
    return Tile(
        rows=height,
        columns=columns,
        depth=_clamped_power(width, 16, 64),
        warps=4 if columns == 32 else 2,
        stages=3,
    )


def project_tile(rows: int, cells: int) -> Tile:
    """Return the tile of the projection; arguments as for `gates_tile`."""
    return Tile(rows=_height(rows), columns=32, depth=_clamped_power(cells, 16, 128), warps=4, stages=3)


def splits(rows: int, cells: int, width: int) -> int:
    """Into how many shares the sum of the projection is cut, so that the programs are many; a power of two."""
    tile = project_tile(rows, cells)
    programs = ceil_div(rows, tile.rows) * ceil_div(width, tile.columns)
    number = 1
    # Each share keeps two loads at least in the mean. Where the cells do not divide, the last ones may be empty: zeros.
    while number < 8 and 2 * number * programs <= _PROGRAMS and cells >= 4 * number * tile.depth:
        number *= 2
    return number


def piece(columns: int) -> int:
    """Columns for one program of a kernel without products."""
    return _clamped_power(columns, MIN_PIECE, _MAX_PIECE)


def ceil_div(number: int, unit: int) -> int:
    """Divide and round up."""
    return -(-number // unit)


def _height(rows: int) -> int:
    return _clamped_power(rows, 16, 64)


def _clamped_power(number: int, low: int, high: int) -> int:
    """The power of two that holds `number`, within two others."""
    return min(max(1 << max(number - 1, 0).bit_length(), low), high)
