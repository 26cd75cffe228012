// Eight numbers at once (AVX2 and FMA), the functions of an LSTM's gates, and the tiles that products are cut into.

#ifndef ELMO_VECTORS_H
#define ELMO_VECTORS_H

#include <cstdint>
#include <type_traits>
#include <immintrin.h>

namespace {

typedef float Vec __attribute__((vector_size(32)));
typedef int32_t Bits __attribute__((vector_size(32)));

constexpr int64_t kLanes = 8;
// A panel is a weight's rows 16 by 16, transposed: for each input 16 numbers that lie side by side.
constexpr int64_t kPanel = 2 * kLanes;
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

// Calls with the number of rows as a constant, for all of `rows` in tiles of at most `kMost` (up to 6) that are as even
// as possible: with 6, 8 rows are 4 and 4, not 6 and 2.
template <int kMost, typename Call>
inline void in_tiles(int64_t rows, const Call& call) {
  const int64_t tiles = (rows + kMost - 1) / kMost;
  for (int64_t index = 0, row = 0; index < tiles; ++index) {
    const int64_t count = (rows - row + tiles - index - 1) / (tiles - index);
    switch (count) {
      case 1: call(row, std::integral_constant<int, 1>()); break;
      case 2: call(row, std::integral_constant<int, 2>()); break;
      case 3: call(row, std::integral_constant<int, 3>()); break;
      case 4: call(row, std::integral_constant<int, 4>()); break;
      case 5: call(row, std::integral_constant<int, kMost < 5 ? kMost : 5>()); break;
      default: call(row, std::integral_constant<int, kMost>());
    }
    row += count;
  }
}

}  // namespace

#endif
