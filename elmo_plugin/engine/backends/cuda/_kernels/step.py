"""
The Triton kernels of one time step, forward and backward.

Every tensor is contiguous, its last dimension dense. Launches of one step follow each other on one stream; what a
launch reads and another of its programs writes is never the same memory:

- `gates`: reads the hidden state of all columns, writes tiles of the cell state that it alone reads;
- `project`: reads what `gates` emitted, writes the hidden state, or its share of a sum;
- `finish`: adds the shares up and writes the hidden state.

Rows that are not running at a step keep their states: nothing of theirs is stored. They are masked by the sizes in
`schedule`, which is read from the device, so that a captured graph serves any lengths. Values that are not numbers
pass through the clips, as they do in PyTorch. Rows and tokens are counted in int64, so that no product with a stride
overflows.
"""

import triton
import triton.language as tl


@triton.jit
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def _tanh(x):
    # From the exponential where that is good to the last digits; below, x + x z P(z) with z = x ** 2 and P fitted to
    # tanh on [0, 0.5] (1.4e-8 relative), since the exponential would cancel.
    size = tl.abs(x)
    t = tl.exp(-2.0 * size)
    large = (1.0 - t) / (1.0 + t)
    z = x * x
    p = -0.333331484 + z * (0.133259871 + z * (-0.0530529348 + z * 0.0172569597))
    return tl.where(size < 0.5, x + x * z * p, tl.where(x < 0.0, -large, large))


@triton.jit
def _clip(x, BOUND: tl.constexpr):
    x = tl.where(x > BOUND, BOUND, x)
    return tl.where(x < -BOUND, -BOUND, x)


@triton.jit(do_not_specialize=["step"])
def gates(
    inputs,  # (tokens, 4 cells): input products with bias; where RECORDS, the gates take their place
    product,  # (rows, 4 cells): recurrent products; not read where MULTIPLIES
    hidden,  # (rows, width); not read unless MULTIPLIES
    recurrent,  # (4 cells, width); not read unless MULTIPLIES
    cell,  # (rows, cells): float32, in place
    emitted,  # (rows, cells): what goes into the projection
    recorded_cell,  # (tokens, cells): float32; written where RECORDS
    schedule,  # (steps, 2) int64: first token and running rows of each step
    step,
    CELLS: tl.constexpr,
    WIDTH: tl.constexpr,
    CELL_CLIP: tl.constexpr,  # None for no bound
    MULTIPLIES: tl.constexpr,
    RECORDS: tl.constexpr,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_CELLS: tl.constexpr,
    BLOCK_WIDTH: tl.constexpr,
):
    """Recurrent product, gates and cell state of a tile of rows and cells."""
    offset = tl.load(schedule + 2 * step)
    running = tl.load(schedule + 2 * step + 1)
    first = tl.program_id(0) * BLOCK_ROWS
    if first >= running:
        return
    rows = (first + tl.arange(0, BLOCK_ROWS)).to(tl.int64)
    cells = tl.program_id(1) * BLOCK_CELLS + tl.arange(0, BLOCK_CELLS)
    is_row = rows < running
    is_cell = cells < CELLS
    live = is_row[:, None] & is_cell[None, :]

    a_i = tl.full((BLOCK_ROWS, BLOCK_CELLS), 0.0, tl.float32)
    a_f = tl.full((BLOCK_ROWS, BLOCK_CELLS), 0.0, tl.float32)
    a_g = tl.full((BLOCK_ROWS, BLOCK_CELLS), 0.0, tl.float32)
    a_o = tl.full((BLOCK_ROWS, BLOCK_CELLS), 0.0, tl.float32)
    if MULTIPLIES:
        for start in range(0, WIDTH, BLOCK_WIDTH):
            columns = start + tl.arange(0, BLOCK_WIDTH)
            is_column = columns < WIDTH
            h = tl.load(
                hidden + rows[:, None] * WIDTH + columns[None, :],
                mask=is_row[:, None] & is_column[None, :],
                other=0.0,
            )  # (BLOCK_ROWS, BLOCK_WIDTH)
            w = recurrent + cells[None, :] * WIDTH + columns[:, None]  # (BLOCK_WIDTH, BLOCK_CELLS): transposed
            inside = is_cell[None, :] & is_column[:, None]
            w_i = tl.load(w, mask=inside, other=0.0)
            w_f = tl.load(w + CELLS * WIDTH, mask=inside, other=0.0)
            w_g = tl.load(w + 2 * CELLS * WIDTH, mask=inside, other=0.0)
            w_o = tl.load(w + 3 * CELLS * WIDTH, mask=inside, other=0.0)
            a_i = tl.dot(h, w_i, a_i, input_precision="ieee")
            a_f = tl.dot(h, w_f, a_f, input_precision="ieee")
            a_g = tl.dot(h, w_g, a_g, input_precision="ieee")
            a_o = tl.dot(h, w_o, a_o, input_precision="ieee")
    else:
        p = product + rows[:, None] * (4 * CELLS) + cells[None, :]
        a_i += tl.load(p, mask=live, other=0.0).to(tl.float32)
        a_f += tl.load(p + CELLS, mask=live, other=0.0).to(tl.float32)
        a_g += tl.load(p + 2 * CELLS, mask=live, other=0.0).to(tl.float32)
        a_o += tl.load(p + 3 * CELLS, mask=live, other=0.0).to(tl.float32)

    places = offset + rows
    x = inputs + places[:, None] * (4 * CELLS) + cells[None, :]
    i = _sigmoid(a_i + tl.load(x, mask=live, other=0.0).to(tl.float32))
    f = _sigmoid(a_f + tl.load(x + CELLS, mask=live, other=0.0).to(tl.float32))
    g = _tanh(a_g + tl.load(x + 2 * CELLS, mask=live, other=0.0).to(tl.float32))
    o = _sigmoid(a_o + tl.load(x + 3 * CELLS, mask=live, other=0.0).to(tl.float32))
    state = rows[:, None] * CELLS + cells[None, :]
    c = i * g + f * tl.load(cell + state, mask=live, other=0.0)
    if CELL_CLIP is not None:
        c = _clip(c, CELL_CLIP)
    # The compiler may let several threads load the same element: all have to be done before it changes.
    tl.debug_barrier()
    tl.store(cell + state, c, mask=live)
    tl.store(emitted + state, (o * _tanh(c)).to(emitted.dtype.element_ty), mask=live)
    if RECORDS:
        tl.store(x, i.to(inputs.dtype.element_ty), mask=live)
        tl.store(x + CELLS, f.to(inputs.dtype.element_ty), mask=live)
        tl.store(x + 2 * CELLS, g.to(inputs.dtype.element_ty), mask=live)
        tl.store(x + 3 * CELLS, o.to(inputs.dtype.element_ty), mask=live)
        tl.store(recorded_cell + places[:, None] * CELLS + cells[None, :], c, mask=live)


@triton.jit(do_not_specialize=["step"])
def project(
    emitted,  # (rows, cells)
    projection,  # (width, cells)
    shares,  # (SPLITS, rows, width) float32, `share` elements each; written where SPLITS > 1
    share,
    hidden,  # (rows, width); written where SPLITS == 1
    outputs,  # (tokens, width); likewise
    schedule,
    step,
    CELLS: tl.constexpr,
    WIDTH: tl.constexpr,
    CLIP: tl.constexpr,  # None for no bound
    SPLITS: tl.constexpr,
    SPAN: tl.constexpr,  # cells of a share, a multiple of BLOCK_CELLS
    BLOCK_ROWS: tl.constexpr,
    BLOCK_WIDTH: tl.constexpr,
    BLOCK_CELLS: tl.constexpr,
):
    """Projection and its clip for a tile of rows and columns, over all cells or over a share of them."""
    offset = tl.load(schedule + 2 * step)
    running = tl.load(schedule + 2 * step + 1)
    first = tl.program_id(0) * BLOCK_ROWS
    if first >= running:
        return
    rows = (first + tl.arange(0, BLOCK_ROWS)).to(tl.int64)
    columns = tl.program_id(1) * BLOCK_WIDTH + tl.arange(0, BLOCK_WIDTH)
    begin = tl.program_id(2) * SPAN
    is_row = rows < running
    is_column = columns < WIDTH
    live = is_row[:, None] & is_column[None, :]

    h = tl.full((BLOCK_ROWS, BLOCK_WIDTH), 0.0, tl.float32)
    for start in range(0, SPAN, BLOCK_CELLS):
        cells = begin + start + tl.arange(0, BLOCK_CELLS)
        is_cell = cells < CELLS
        e = tl.load(
            emitted + rows[:, None] * CELLS + cells[None, :], mask=is_row[:, None] & is_cell[None, :], other=0.0
        )  # (BLOCK_ROWS, BLOCK_CELLS)
        w = tl.load(
            projection + columns[None, :] * CELLS + cells[:, None],
            mask=is_column[None, :] & is_cell[:, None],
            other=0.0,
        )  # (BLOCK_CELLS, BLOCK_WIDTH): transposed
        h = tl.dot(e, w, h, input_precision="ieee")

    state = rows[:, None] * WIDTH + columns[None, :]
    if SPLITS == 1:
        if CLIP is not None:
            h = _clip(h, CLIP)
        tl.store(hidden + state, h.to(hidden.dtype.element_ty), mask=live)
        places = offset + rows
        out = outputs + places[:, None] * WIDTH + columns[None, :]
        tl.store(out, h.to(outputs.dtype.element_ty), mask=live)
    else:
        tl.store(shares + tl.program_id(2).to(tl.int64) * share + state, h, mask=live)


@triton.jit(do_not_specialize=["step"])
def finish(
    shares,  # (SPLITS, rows, width), `share` elements each
    share,
    hidden,  # (rows, width)
    outputs,  # (tokens, width)
    schedule,
    step,
    WIDTH: tl.constexpr,
    CLIP: tl.constexpr,  # None for no bound
    SPLITS: tl.constexpr,
    BLOCK_WIDTH: tl.constexpr,
):
    """Sum of the shares, always in the same order, and its clip, for a piece of one row."""
    offset = tl.load(schedule + 2 * step)
    running = tl.load(schedule + 2 * step + 1)
    row = tl.program_id(0).to(tl.int64)
    if row >= running:
        return
    columns = tl.program_id(1) * BLOCK_WIDTH + tl.arange(0, BLOCK_WIDTH)
    live = columns < WIDTH
    state = row * WIDTH + columns
    piece = shares + state
    h = tl.load(piece, mask=live, other=0.0).to(tl.float32)
    for _ in range(1, SPLITS):
        piece += share
        h += tl.load(piece, mask=live, other=0.0).to(tl.float32)
    if CLIP is not None:
        h = _clip(h, CLIP)
    tl.store(hidden + state, h.to(hidden.dtype.element_ty), mask=live)
    tl.store(outputs + (offset + row) * WIDTH + columns, h.to(outputs.dtype.element_ty), mask=live)


@triton.jit(do_not_specialize=["numbers"])
def arrive(
    later,  # (rows, width): gradient by way of the next step
    arriving,  # (rows, width): gradient of the outputs
    outputs,  # (rows, width)
    target,  # (rows, width)
    numbers,  # rows * width
    CLIP: tl.constexpr,  # None for no bound
    BLOCK: tl.constexpr,
):
    """Gradient with respect to the output before its clip. A value that was clipped passes none."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = places < numbers
    d = tl.load(later + places, mask=live, other=0.0).to(tl.float32)
    d += tl.load(arriving + places, mask=live, other=0.0).to(tl.float32)
    if CLIP is not None:
        h = tl.load(outputs + places, mask=live, other=0.0).to(tl.float32)
        d = tl.where(tl.abs(h) < CLIP, d, 0.0)
    tl.store(target + places, d.to(target.dtype.element_ty), mask=live)


@triton.jit
def gates_backward(
    d_emitted,  # (rows, cells)
    gates,  # (rows, 4 cells), behind their functions
    previous_cell,  # (rows, cells) float32
    cell,  # (rows, cells) float32, clipped
    d_cell,  # (rows, cells) float32: from the next step, in place for the one before
    d_gates,  # (rows, 4 cells): gradient in front of the functions
    CELLS: tl.constexpr,
    CLIP: tl.constexpr,  # None for no bound
    BLOCK: tl.constexpr,
):
    """Gradients of the gates and of the cell state for a piece of one row."""
    row = tl.program_id(0).to(tl.int64)
    cells = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = cells < CELLS
    state = row * CELLS + cells
    of_gates = row * (4 * CELLS) + cells
    i = tl.load(gates + of_gates, mask=live, other=0.0).to(tl.float32)
    f = tl.load(gates + of_gates + CELLS, mask=live, other=0.0).to(tl.float32)
    g = tl.load(gates + of_gates + 2 * CELLS, mask=live, other=0.0).to(tl.float32)
    o = tl.load(gates + of_gates + 3 * CELLS, mask=live, other=0.0).to(tl.float32)
    c = tl.load(cell + state, mask=live, other=0.0)
    s = _tanh(c)
    d_e = tl.load(d_emitted + state, mask=live, other=0.0).to(tl.float32)
    d_c = d_e * o * (1.0 - s * s) + tl.load(d_cell + state, mask=live, other=0.0)
    if CLIP is not None:
        d_c = tl.where(tl.abs(c) < CLIP, d_c, 0.0)
    d_i = d_c * g * i * (1.0 - i)
    d_f = d_c * tl.load(previous_cell + state, mask=live, other=0.0) * f * (1.0 - f)
    d_g = d_c * i * (1.0 - g * g)
    d_o = d_e * s * o * (1.0 - o)
    tl.debug_barrier()  # as in `gates`: the cell state's gradient changes in place
    tl.store(d_cell + state, d_c * f, mask=live)
    tl.store(d_gates + of_gates, d_i.to(d_gates.dtype.element_ty), mask=live)
    tl.store(d_gates + of_gates + CELLS, d_f.to(d_gates.dtype.element_ty), mask=live)
    tl.store(d_gates + of_gates + 2 * CELLS, d_g.to(d_gates.dtype.element_ty), mask=live)
    tl.store(d_gates + of_gates + 3 * CELLS, d_o.to(d_gates.dtype.element_ty), mask=live)
