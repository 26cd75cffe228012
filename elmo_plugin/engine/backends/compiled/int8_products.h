// Products with weights in panels, rounded to int8, a scale for each output; inputs are rounded to 16 bits, a scale for
// each row, so that no row depends on another one.

#ifndef ELMO_INT8_PRODUCTS_H
#define ELMO_INT8_PRODUCTS_H

#include <cstring>
#include "vectors.h"

namespace {

// Rows of a tile: 8 sums, 2 weights, an input and what lies between fill the 16 registers.
constexpr int kInt8Rows = 4;
// Inputs that are summed up in whole numbers: 512 * 128 * 32767 is below 2^31.
constexpr int64_t kInt8Depth = 512;
// What the largest input of a row becomes.
constexpr float kLargest = 32767.0f;
// A row of smaller numbers than this is taken for zeros: their scale would have no inverse.
constexpr float kSmallest = 1e-30f;

// 8 outputs of 2 inputs each.
inline __m256i pairs(const int8_t* place) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(place)));
}

// The largest absolute value; no number where one is none.
inline float largest_of(const float* x, int64_t count) {
  const Vec signs = (Vec)_mm256_set1_epi32(INT32_MAX);
  Vec found = {};
  int64_t place = 0;
  for (; place + kLanes <= count; place += kLanes)
    found = larger((Vec)_mm256_and_ps((__m256)load(x + place), (__m256)signs), found);
  float lanes[kLanes], most = 0.0f;
  store(lanes, found);
  for (float value : lanes) most = value > most || value != value ? value : most;
  for (; place < count; ++place) {
    const float value = __builtin_fabsf(x[place]);
    most = value > most || value != value ? value : most;
  }
  return most;
}

// Round a row to whole numbers, a zero behind them where their number is odd. The return value is the scale. Where an
// input is infinite or no number, the scale is that too, and so is every product.
inline float round_row(const float* x, int64_t count, int16_t* out) {
  const float most = largest_of(x, count);
  const float factor = most > kSmallest ? kLargest / most : 0.0f;
  int64_t place = 0;
  for (; place + 2 * kLanes <= count; place += 2 * kLanes) {
    const __m256i low = _mm256_cvtps_epi32((__m256)(load(x + place) * factor));
    const __m256i high = _mm256_cvtps_epi32((__m256)(load(x + place + kLanes) * factor));
    // The halves of the two are packed crosswise.
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + place), packed);
  }
  for (; place < count; ++place) {
    const float value = x[place] * factor;
    out[place] = value == value ? int16_t(__builtin_rintf(value)) : int16_t(0);
  }
  if (count % 2) out[count] = 0;
  return most > kSmallest || most != most ? most / kLargest : 0.0f;
}

// out = or += the products of `Rows` rows and a piece of a panel.
template <int Rows>
inline void int8_tile(const int16_t* x, int64_t x_stride, const float* x_scales, const int8_t* panel,
                      const float* scales, int64_t depth, float* out, int64_t out_stride, int64_t columns, bool add) {
  __m256i low[Rows], high[Rows];
#pragma GCC unroll 4
  for (int row = 0; row < Rows; ++row) {
    _mm_prefetch(out + row * out_stride, _MM_HINT_T0);
    low[row] = high[row] = _mm256_setzero_si256();
  }
#pragma GCC unroll 2
  for (int64_t input = 0; input < depth; input += 2) {
    _mm_prefetch(panel + (input + 2 * kAhead) * kPanel, _MM_HINT_T0);
    const __m256i left = pairs(panel + input * kPanel), right = pairs(panel + (input + 1) * kPanel);
#pragma GCC unroll 4
    for (int row = 0; row < Rows; ++row) {
      int32_t two;
      std::memcpy(&two, x + row * x_stride + input, sizeof two);
      const __m256i values = _mm256_set1_epi32(two);
      low[row] = _mm256_add_epi32(low[row], _mm256_madd_epi16(left, values));
      high[row] = _mm256_add_epi32(high[row], _mm256_madd_epi16(right, values));
    }
  }
  const Vec left = load(scales), right = load(scales + kLanes);
#pragma GCC unroll 4
  for (int row = 0; row < Rows; ++row) {
    const Vec first = (Vec)_mm256_cvtepi32_ps(low[row]) * (left * x_scales[row]);
    const Vec second = (Vec)_mm256_cvtepi32_ps(high[row]) * (right * x_scales[row]);
    put(out + row * out_stride, first, second, columns, add);
  }
}

// Room for the inputs of a product: (rows, inputs, rounded up to an even number) and (rows,).
struct Rounded {
  int16_t* numbers;
  float* scales;
};

// A weight, (outputs, inputs), in panels: for each two inputs the two numbers of 16 outputs side by side.
struct Int8Panels {
  const int8_t* weights;
  const float* scales;  // of the outputs, up to a multiple of 16
  Rounded room;

  // out (rows, outputs) = or += x (rows, inputs) times the weight.
  void multiply(const float* x, int64_t x_stride, int64_t rows, int64_t inputs, int64_t outputs, float* out,
                int64_t out_stride, bool add) const {
    const int64_t even = inputs + inputs % 2;
    for (int64_t row = 0; row < rows; ++row)
      room.scales[row] = round_row(x + row * x_stride, inputs, room.numbers + row * even);
    const int8_t* panel = weights;
    for (int64_t first = 0; first < outputs; first += kPanel, panel += even * kPanel) {
      const int64_t columns = outputs - first < kPanel ? outputs - first : kPanel;
      for (int64_t input = 0; input < even; input += kInt8Depth) {
        const int64_t depth = even - input < kInt8Depth ? even - input : kInt8Depth;
        in_tiles<kInt8Rows>(rows, [&](int64_t row, auto count) {
          int8_tile<count()>(room.numbers + row * even + input, even, room.scales + row, panel + input * kPanel,
                             scales + first, depth, out + row * out_stride + first, out_stride, columns,
                             add || input > 0);
        });
      }
    }
  }
};

}  // namespace

#endif
