// Products of single rows with weights as they are. For one row the weights' way from memory is all that counts, and they
// come fastest one behind the other; so a single sentence needs no second copy of them.

#ifndef ELMO_SINGLE_ROW_H
#define ELMO_SINGLE_ROW_H

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

// A weight, (outputs, inputs), one output behind the other.
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

}  // namespace

#endif
