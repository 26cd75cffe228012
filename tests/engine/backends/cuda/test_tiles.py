import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmo_plugin.engine.backends.cuda import tiles

numbers = st.integers(1, 5000)


def is_power_of_two(number):
    return number & (number - 1) == 0


@given(rows=numbers, cells=numbers, width=numbers)
def test_sides_are_what_triton_takes(rows, cells, width):
    for tile in (tiles.gates_tile(rows, cells, width), tiles.project_tile(rows, cells)):
        assert all(is_power_of_two(side) and side >= 16 for side in (tile.rows, tile.columns, tile.depth))
        assert is_power_of_two(tile.warps)
    piece = tiles.piece(width)
    assert is_power_of_two(piece) and piece >= tiles.MIN_PIECE


@given(rows=numbers, cells=numbers, width=numbers)
def test_shares_cover_all_cells_and_are_most_for_one_row(rows, cells, width):
    tile, splits = tiles.project_tile(rows, cells), tiles.splits(rows, cells, width)
    share = tiles.ceil_div(cells, splits * tile.depth) * tile.depth

    assert is_power_of_two(splits) and splits <= tiles.splits(1, cells, width) <= 8
    assert share * splits >= cells


@pytest.mark.parametrize("cells,width", [(1024, 128), (2048, 256), (4096, 512)])
@pytest.mark.parametrize("rows", [1, 32, 128, 512])
def test_no_share_is_empty_for_the_published_sizes(rows, cells, width):
    tile, splits = tiles.project_tile(rows, cells), tiles.splits(rows, cells, width)

    assert cells % (splits * tile.depth) == 0


@pytest.mark.parametrize("rows", [1, 32, 64, 128, 512])
def test_loads_under_way_fit_the_shared_memory_of_an_a100(rows):
    """In bytes, for half precision: 164 KiB a processor, of which 163 are for one program."""
    gates, project = tiles.gates_tile(rows, 4096, 512), tiles.project_tile(rows, 4096)

    for tile, columns in ((gates, 4 * gates.columns), (project, project.columns)):
        assert tile.stages * 2 * tile.depth * (tile.rows + columns) <= 163 * 1024
