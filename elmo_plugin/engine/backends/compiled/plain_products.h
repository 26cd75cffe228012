// Products with weights as they are, (outputs, inputs): of single rows, and of the rows of many steps at once.

#ifndef ELMO_PLAIN_PRODUCTS_H
#define ELMO_PLAIN_PRODUCTS_H

#include "products.h"
#include "vectors.h"

namespace {

// Sums side by side, as many as a product's latency takes.
constexpr int kSums = 4;
// Numbers of a weight that are fetched ahead, and those of a cache line.
constexpr int64_t kFetched = 256;
constexpr int64_t kLine = 16;

inline float sum_of(Vec values) {
  const __m128 halves = _mm_add_ps(_mm256_castps256_ps128((__m256)values), _mm256_extractf128_ps((__m256)values, 1));
  const __m128 pairs = _mm_add_ps(halves, _mm_movehl_ps(halves, halves));
  return _mm_cvtss_f32(_mm_add_ss(pairs, _mm_shuffle_ps(pairs, pairs, 1)));
}

inline float dot(const float* x, const float* weight, int64_t inputs) {
  Vec sums[kSums] = {};
  int64_t input = 0;
  for (; input + kSums * kLanes <= inputs; input += kSums * kLanes) {
    for (int64_t place = 0; place < kSums * kLanes; place += kLine)
      _mm_prefetch(weight + input + kFetched + place, _MM_HINT_T0);
#pragma GCC unroll 4
    for (int part = 0; part < kSums; ++part)
      sums[part] += load(weight + input + part * kLanes) * load(x + input + part * kLanes);
  }
  float sum = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (; input < inputs; ++input) sum += weight[input] * x[input];
  return sum;
}

// A weight, (outputs, inputs), for steps of a single row. Its way from memory is all that counts then, and it comes fastest
// one number behind the other; so a single sentence needs no second copy of it.
struct Plain {
  const float* weights;

  // out (rows, outputs) = or += x (rows, inputs) times the weight.
  void multiply(const float* x, int64_t x_stride, int64_t rows, int64_t inputs, int64_t outputs, float* out,
                int64_t out_stride, bool add) const {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t output = 0; output < outputs; ++output) {
        const float sum = dot(x + row * x_stride, weights + output * inputs, inputs);
        float* place = out + row * out_stride + output;
        *place = add ? *place + sum : sum;
      }
    }
  }
};

// Lay out a piece of a weight, (outputs, depth) with its up to 16 outputs `stride` apart, as a panel: 8 by 8 numbers at a
// time, or one by one where there are fewer outputs, and zeros in their place.
inline void lay_out(const float* weight, int64_t stride, int64_t outputs, int64_t depth, float* panel) {
  if (outputs < kPanel) {
    for (int64_t input = 0; input < depth; ++input)
      for (int64_t output = 0; output < kPanel; ++output)
        panel[input * kPanel + output] = output < outputs ? weight[output * stride + input] : 0.0f;
    return;
  }
  for (int64_t half = 0; half < kPanel; half += kLanes) {
    const float* from = weight + half * stride;
    int64_t input = 0;
    for (; input + kLanes <= depth; input += kLanes) {
      __m256 r[kLanes], t[kLanes];
      for (int64_t row = 0; row < kLanes; ++row) r[row] = _mm256_loadu_ps(from + row * stride + input);
      for (int64_t pair = 0; pair < kLanes; pair += 2) {
        t[pair] = _mm256_unpacklo_ps(r[pair], r[pair + 1]);
        t[pair + 1] = _mm256_unpackhi_ps(r[pair], r[pair + 1]);
      }
      for (int64_t four = 0; four < kLanes; four += 4) {
        r[four] = _mm256_shuffle_ps(t[four], t[four + 2], 0x44);
        r[four + 1] = _mm256_shuffle_ps(t[four], t[four + 2], 0xee);
        r[four + 2] = _mm256_shuffle_ps(t[four + 1], t[four + 3], 0x44);
        r[four + 3] = _mm256_shuffle_ps(t[four + 1], t[four + 3], 0xee);
      }
      for (int64_t column = 0; column < 4; ++column) {
        float* to = panel + (input + column) * kPanel + half;
        _mm256_storeu_ps(to, _mm256_permute2f128_ps(r[column], r[column + 4], 0x20));
        _mm256_storeu_ps(to + 4 * kPanel, _mm256_permute2f128_ps(r[column], r[column + 4], 0x31));
      }
    }
    for (; input < depth; ++input)
      for (int64_t row = 0; row < kLanes; ++row) panel[input * kPanel + half + row] = from[row * stride + input];
  }
}

// out (rows, outputs) += x (rows, inputs) times a weight as it is, (outputs, inputs), of which a piece is laid out at a
// time. That pays from a few rows on.
inline void add_product(const float* x, int64_t rows, int64_t inputs, const float* weight, int64_t outputs,
                        float* out) {
  alignas(64) float panel[(kDepth + kAhead) * kPanel];
  for (int64_t first = 0; first < outputs; first += kPanel) {
    const int64_t columns = outputs - first < kPanel ? outputs - first : kPanel;
    for (int64_t input = 0; input < inputs; input += kDepth) {
      const int64_t depth = inputs - input < kDepth ? inputs - input : kDepth;
      lay_out(weight + first * inputs + input, inputs, columns, depth, panel);
      in_tiles<kRows>(rows, [&](int64_t row, auto count) {
        tile<count(), false>(x + row * inputs + input, inputs, panel, depth, Ahead{}, out + row * outputs + first, outputs,
                             columns, true);
      });
    }
  }
}

}  // namespace

#endif
