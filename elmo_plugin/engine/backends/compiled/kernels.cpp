// The steps of an LSTM layer in one direction, and the convolutions over the characters of words, without gradients.
//
// A plain C interface, called through ctypes: it depends on no version of Python or PyTorch. x86-64 with AVX2, FMA and
// F16C; built by setup.py with these flags. The notation is that of base.py.

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <immintrin.h>

namespace {

typedef float Vec __attribute__((vector_size(32)));
typedef int32_t Bits __attribute__((vector_size(32)));

constexpr int64_t kLanes = 8;
// A panel is a weight's rows 16 by 16, transposed: for each input 16 numbers that lie side by side.
constexpr int64_t kPanel = 2 * kLanes;
// Rows of a tile: 12 sums, 2 weights and an input fill the 16 registers.
constexpr int kRows = 6;
// Inputs that are summed up at once. A piece of a panel stays in the first cache for all rows, and sums of sums are
// nearer to the exact ones than long sums.
constexpr int64_t kDepth = 256;
// Inputs whose weights are fetched ahead: with few rows the processor's own guess comes too late.
constexpr int64_t kAhead = 24;

inline Vec load(const float* place) { return (Vec)_mm256_loadu_ps(place); }

inline Vec load(const uint16_t* place) {
  return (Vec)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(place)));
}

inline void store(float* place, Vec values) { _mm256_storeu_ps(place, (__m256)values); }

// Write the first `columns` of 16 sums, over what is there or on top of it.
inline void put(float* out, Vec low, Vec high, int64_t columns, bool add) {
  if (columns == kPanel) {
    store(out, add ? load(out) + low : low);
    store(out + kLanes, add ? load(out + kLanes) + high : high);
    return;
  }
  float sums[kPanel];
  store(sums, low);
  store(sums + kLanes, high);
  for (int64_t column = 0; column < columns; ++column) out[column] = add ? out[column] + sums[column] : sums[column];
}

// The larger one; what is no number wins.
inline Vec larger(Vec a, Vec b) { return a > b || a != a ? a : b; }

// The products of `Rows` rows and a piece of a panel.
template <int Rows, typename Weight>
inline __attribute__((always_inline)) void products(const float* x, int64_t x_stride, const Weight* panel,
                                                    int64_t depth, Vec (&low)[Rows], Vec (&high)[Rows]) {
#pragma GCC unroll 6
  for (int row = 0; row < Rows; ++row) low[row] = high[row] = Vec{};
  for (int64_t input = 0; input < depth; ++input) {
    _mm_prefetch(reinterpret_cast<const char*>(panel + (input + kAhead) * kPanel), _MM_HINT_T0);
    const Vec left = load(panel + input * kPanel), right = load(panel + input * kPanel + kLanes);
#pragma GCC unroll 6
    for (int row = 0; row < Rows; ++row) {
      const Vec value = (Vec)_mm256_broadcast_ss(x + row * x_stride + input);
      low[row] += left * value;
      high[row] += right * value;
    }
  }
}

// out = or += the products of `Rows` rows and a piece of a panel.
template <int Rows, typename Weight>
inline void tile(const float* x, int64_t x_stride, const Weight* panel, int64_t depth, float* out, int64_t out_stride,
                 int64_t columns, bool add) {
  Vec low[Rows], high[Rows];
  products(x, x_stride, panel, depth, low, high);
#pragma GCC unroll 6
  for (int row = 0; row < Rows; ++row) put(out + row * out_stride, low[row], high[row], columns, add);
}

// Raise `left` and `right` to the largest of the products of `Rows` windows and a panel.
template <int Rows>
inline void largest(const float* x, int64_t channels, const float* panel, int64_t depth, Vec& left, Vec& right) {
  Vec low[Rows], high[Rows];
  products(x, channels, panel, depth, low, high);
#pragma GCC unroll 6
  for (int row = 0; row < Rows; ++row) {
    left = larger(low[row], left);
    right = larger(high[row], right);
  }
}

// Calls with the number of rows as a constant, for all of `rows` in tiles that are as even as possible: 8 rows are 4 and
// 4, not 6 and 2.
template <typename Call>
inline void in_tiles(int64_t rows, const Call& call) {
  const int64_t tiles = (rows + kRows - 1) / kRows;
  for (int64_t index = 0, row = 0; index < tiles; ++index) {
    const int64_t count = (rows - row + tiles - index - 1) / (tiles - index);
    switch (count) {
      case 1: call(row, std::integral_constant<int, 1>()); break;
      case 2: call(row, std::integral_constant<int, 2>()); break;
      case 3: call(row, std::integral_constant<int, 3>()); break;
      case 4: call(row, std::integral_constant<int, 4>()); break;
      case 5: call(row, std::integral_constant<int, 5>()); break;
      default: call(row, std::integral_constant<int, 6>());
    }
    row += count;
  }
}

// out (rows, outputs) = or += x (rows, inputs) times a weight in panels.
template <typename Weight>
void multiply(const float* x, int64_t x_stride, int64_t rows, const Weight* panels, int64_t inputs, int64_t outputs,
              float* out, int64_t out_stride, bool add) {
  for (int64_t first = 0; first < outputs; first += kPanel, panels += inputs * kPanel) {
    const int64_t columns = outputs - first < kPanel ? outputs - first : kPanel;
    for (int64_t input = 0; input < inputs; input += kDepth) {
      const int64_t depth = inputs - input < kDepth ? inputs - input : kDepth;
      in_tiles(rows, [&](int64_t row, auto count) {
        tile<count()>(x + row * x_stride + input, x_stride, panels + input * kPanel, depth,
                      out + row * out_stride + first, out_stride, columns, add || input > 0);
      });
    }
  }
}

// The bounds let numbers that are none pass.
inline Vec between(Vec x, float low, float high) {
  const Vec lows = low - (Vec){}, highs = high - (Vec){};
  x = x < lows ? lows : x;
  return x > highs ? highs : x;
}

// exp(x) - 1 for |x| <= 88 to about a unit in the last place, also near 0: with x = n ln 2 + r the series of exp(r) - 1,
// whose first term left out is below 6e-9 of the value for |r| <= ln 2 / 2.
inline Vec exp_minus_one(Vec x) {
  const Vec whole = (Vec)_mm256_round_ps((__m256)(x * 1.44269504f), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // ln 2 in two parts, the first of which has few enough digits for an exact product
  const Vec r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Vec series = r * (1.0f / 5040.0f) + (1.0f / 720.0f);
  series = series * r + (1.0f / 120.0f);
  series = series * r + (1.0f / 24.0f);
  series = series * r + (1.0f / 6.0f);
  series = series * r + 0.5f;
  series = series * (r * r) + r;
  const Bits exponent = ((Bits)_mm256_cvtps_epi32((__m256)whole) + 127) << 23;
  const Vec power = (Vec)exponent;
  return series * power + (power - 1.0f);
}

inline Vec sigmoid(Vec x) { return 1.0f / (2.0f + exp_minus_one(between(-x, -87.0f, 87.0f))); }

inline Vec tanh(Vec x) {
  const Vec doubled = exp_minus_one(between(x + x, -40.0f, 40.0f));
  return doubled / (doubled + 2.0f);
}

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

template <typename Weight>
void run(const int64_t* starts, const int64_t* sizes, int64_t steps, int64_t cells, int64_t width, float* gates,
         float* outputs, const Weight* recurrent, const Weight* projection, float* hidden, float* cell,
         float cell_clip, float projection_clip) {
  const int64_t all = 4 * cells;
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t rows = sizes[step];
    float* a = gates + starts[step] * all;
    float* output = outputs + starts[step] * width;
    multiply(hidden, width, rows, recurrent, width, all, a, all, true);
    for (int64_t row = 0; row < rows; ++row) activate(a + row * all, cell + row * cells, cells, cell_clip);
    const float* emitted = a + 3 * cells;
    if (projection == nullptr) {
      for (int64_t row = 0; row < rows; ++row)
        std::memcpy(output + row * width, emitted + row * all, width * sizeof(float));
    } else {
      multiply(emitted, all, rows, projection, cells, width, output, width, false);
      for (int64_t row = 0; row < rows; ++row) clip_row(output + row * width, width, projection_clip);
    }
    std::memcpy(hidden, output, rows * width * sizeof(float));
  }
}

}  // namespace

extern "C" {

int elmo_can_run() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

// starts, sizes: first packed token and rows of each step, in the order in which they are processed.
// gates: (tokens, 4 cells), bias and product of the inputs; written over. outputs: (tokens, width).
// recurrent, projection: panels; no projection where width is cells. hidden (rows, width), cell (rows, cells): updated.
void elmo_steps_float32(const int64_t* starts, const int64_t* sizes, int64_t steps, int64_t cells, int64_t width,
                        float* gates, float* outputs, const float* recurrent, const float* projection, float* hidden,
                        float* cell, float cell_clip, float projection_clip) {
  run(starts, sizes, steps, cells, width, gates, outputs, recurrent, projection, hidden, cell, cell_clip,
      projection_clip);
}

void elmo_steps_float16(const int64_t* starts, const int64_t* sizes, int64_t steps, int64_t cells, int64_t width,
                        float* gates, float* outputs, const uint16_t* recurrent, const uint16_t* projection,
                        float* hidden, float* cell, float cell_clip, float projection_clip) {
  run(starts, sizes, steps, cells, width, gates, outputs, recurrent, projection, hidden, cell, cell_clip,
      projection_clip);
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
      in_tiles(windows, [&](int64_t window, auto count) {
        largest<count()>(characters + window * channels, channels, panels, depth, left, right);
      });
      put(out + word * out_stride + first, left, right, count_here, false);
    }
  }
}

}  // extern "C"
