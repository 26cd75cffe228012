// The steps of an LSTM layer in one direction, and the convolutions over the characters of words, without gradients.
//
// A plain C interface, called through ctypes: it depends on no version of Python or PyTorch. x86-64 with AVX2, FMA and
// F16C; built by setup.py with these flags. The notation is that of base.py.

#include <cpuid.h>
#include <cstdint>
#include <cstring>
#include "int8_products.h"
#include "plain_products.h"
#include "products.h"
#include "vectors.h"

namespace {

// Gates to the new cell state and to what is projected, o * tanh(c), which is written over the gate o.
inline void cells_of(const Vec i, const Vec f, const Vec g, Vec* o, Vec* cell, float clip) {
  const Vec c = between(sigmoid(f) * *cell + sigmoid(i) * tanh(g), -clip, clip);
  *cell = c;
  *o = sigmoid(*o) * tanh(c);
}

void activate(float* gates, float* cell, int64_t cells, float clip) {
  float *i = gates, *f = gates + cells, *g = gates + 2 * cells, *o = gates + 3 * cells;
  int64_t first = 0;
  for (; first + kLanes <= cells; first += kLanes) {
    Vec emitted = load(o + first), c = load(cell + first);
    cells_of(load(i + first), load(f + first), load(g + first), &emitted, &c, clip);
    store(o + first, emitted);
    store(cell + first, c);
  }
  const size_t rest = (cells - first) * sizeof(float);
  if (rest == 0) return;
  float parts[5][kLanes] = {};
  float* sources[5] = {i + first, f + first, g + first, o + first, cell + first};
  for (int part = 0; part < 5; ++part) std::memcpy(parts[part], sources[part], rest);
  Vec emitted = load(parts[3]), c = load(parts[4]);
  cells_of(load(parts[0]), load(parts[1]), load(parts[2]), &emitted, &c, clip);
  store(parts[3], emitted);
  store(parts[4], c);
  std::memcpy(o + first, parts[3], rest);
  std::memcpy(cell + first, parts[4], rest);
}

void clip_row(float* row, int64_t width, float bound) {
  for (int64_t place = 0; place < width; ++place) {
    const float value = row[place] < -bound ? -bound : row[place];
    row[place] = value > bound ? bound : value;
  }
}

// Matrix: of the weights, `Panels`, `Int8Panels` or `Plain`. No projection where `width` is `cells`.
template <typename Matrix>
void run(const int64_t* starts, const int64_t* sizes, int64_t steps, int64_t cells, int64_t width, float* gates,
         float* outputs, const Matrix& recurrent, const Matrix& projection, float* hidden, float* cell,
         float cell_clip, float projection_clip) {
  const int64_t all = 4 * cells;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t rows = sizes[step];
    float* a = gates + starts[step] * all;
    float* output = outputs + starts[step] * width;
    recurrent.multiply(hidden, width, rows, width, all, a, all, true);
    for (int64_t row = 0; row < rows; ++row) activate(a + row * all, cell + row * cells, cells, cell_clip);
    const float* emitted = a + 3 * cells;
    if (projection.weights == nullptr) {
      for (int64_t row = 0; row < rows; ++row)
        std::memcpy(output + row * width, emitted + row * all, width * sizeof(float));
    } else {
      projection.multiply(emitted, all, rows, cells, width, output, width, false);
      for (int64_t row = 0; row < rows; ++row) clip_row(output + row * width, width, projection_clip);
    }
    std::memcpy(hidden, output, rows * width * sizeof(float));
  }
}

// Raise `left` and `right` to the largest of the products of `Rows` windows and a panel.
template <int Rows>
inline void largest(const float* x, int64_t channels, const float* panel, int64_t depth, Vec& left, Vec& right) {
  Vec low[Rows], high[Rows];
  products<Rows, false>(x, channels, panel, depth, Ahead{}, low, high);
#pragma GCC unroll 6
  for (int row = 0; row < Rows; ++row) {
    left = larger(low[row], left);
    right = larger(high[row], right);
  }
}

}  // namespace

extern "C" {

// Which calls there are and what they take: to be raised with every change of them, here and in library.py, so that a
// library that was built from other sources is refused.
int elmo_interface() { return 3; }

// F16C is asked of the processor itself: older compilers do not know its name.
int elmo_can_run() {
  unsigned int a, b, c, d;
  const bool has_f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
  return has_f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

// starts, sizes: first packed token and rows of each step, in the order in which they are processed.
// gates: (tokens, 4 cells), bias and product of the inputs; written over. outputs: (tokens, width).
// recurrent, projection: panels; no projection where width is cells. hidden (rows, width), cell (rows, cells): updated.
void elmo_steps_float32(const int64_t* starts, const int64_t* sizes, int64_t steps, int64_t cells, int64_t width,
                        float* gates, float* outputs, const float* recurrent, const float* projection, float* hidden,
                        float* cell, float cell_clip, float projection_clip) {
  run(starts, sizes, steps, cells, width, gates, outputs, Panels<float>{recurrent}, Panels<float>{projection}, hidden,
      cell, cell_clip, projection_clip);
}

// recurrent, projection: as they are, (outputs, inputs). For steps of a single row.
void elmo_steps_single(const int64_t* starts, const int64_t* sizes, int64_t steps, int64_t cells, int64_t width,
                       float* gates, float* outputs, const float* recurrent, const float* projection, float* hidden,
                       float* cell, float cell_clip, float projection_clip) {
  run(starts, sizes, steps, cells, width, gates, outputs, Plain{recurrent}, Plain{projection}, hidden, cell, cell_clip,
      projection_clip);
}

void elmo_steps_float16(const int64_t* starts, const int64_t* sizes, int64_t steps, int64_t cells, int64_t width,
                        float* gates, float* outputs, const uint16_t* recurrent, const uint16_t* projection,
                        float* hidden, float* cell, float cell_clip, float projection_clip) {
  run(starts, sizes, steps, cells, width, gates, outputs, Panels<uint16_t>{recurrent}, Panels<uint16_t>{projection},
      hidden, cell, cell_clip, projection_clip);
}

// The weights are rounded: panels and the scales of their outputs. numbers, number_scales: room for the inputs of all
// rows of a step, (rows, inputs rounded up to an even number) and (rows,).
void elmo_steps_int8(const int64_t* starts, const int64_t* sizes, int64_t steps, int64_t cells, int64_t width,
                     float* gates, float* outputs, const int8_t* recurrent, const float* recurrent_scales,
                     const int8_t* projection, const float* projection_scales, int16_t* numbers, float* number_scales,
                     float* hidden, float* cell, float cell_clip, float projection_clip) {
  const Rounded room{numbers, number_scales};
  run(starts, sizes, steps, cells, width, gates, outputs, Int8Panels{recurrent, recurrent_scales, room},
      Int8Panels{projection, projection_scales, room}, hidden, cell, cell_clip, projection_clip);
}

// out (rows, outputs) += x (rows, inputs) times a weight as it is, (outputs, inputs).
void elmo_add_float32(const float* x, int64_t rows, int64_t inputs, const float* weight, int64_t outputs, float* out) {
  add_product(x, rows, inputs, weight, outputs, out);
}

// out (rows, outputs) += x (rows, inputs) times a rounded weight; room as above.
void elmo_add_int8(const float* x, int64_t rows, int64_t inputs, const int8_t* panels, const float* scales,
                   int64_t outputs, int16_t* numbers, float* number_scales, float* out) {
  Int8Panels{panels, scales, Rounded{numbers, number_scales}}.multiply(x, inputs, rows, inputs, outputs, out, outputs,
                                                                        true);
}

// x: (words, columns, channels), the vectors of the characters. panels: of the filters over (width, channels).
// out: for each word, `out_stride` numbers apart, the largest product of each filter over all windows; no bias.
void elmo_strongest(const float* x, int64_t words, int64_t columns, int64_t channels, const float* panels, int64_t width,
                    int64_t filters, float* out, int64_t out_stride) {
  const int64_t windows = columns - width + 1, depth = width * channels;
  for (int64_t first = 0; first < filters; first += kPanel, panels += depth * kPanel) {
    const int64_t count_here = filters - first < kPanel ? filters - first : kPanel;
    for (int64_t word = 0; word < words; ++word) {
      const float* characters = x + word * columns * channels;
      Vec left = Vec{} - __builtin_inff(), right = left;
      in_tiles<kRows>(windows, [&](int64_t window, auto count) {
        largest<count()>(characters + window * channels, channels, panels, depth, left, right);
      });
      put(out + word * out_stride + first, left, right, count_here, false);
    }
  }
}

}  // extern "C"
