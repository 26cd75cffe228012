// Products with weights in panels, of float32 or float16.

#ifndef ELMO_PRODUCTS_H
#define ELMO_PRODUCTS_H

#include "vectors.h"

namespace {

// Rows of a tile: 12 sums, 2 weights and an input fill the 16 registers.
constexpr int kRows = 6;
// Inputs that are summed up at once. A piece of a panel stays in the first cache for all rows, and sums of sums are
// nearer to the exact ones than long sums.
constexpr int64_t kDepth = 256;
// Weights of more bytes than this come from memory, or nearly so, in each step.
constexpr int64_t kFar = int64_t(8) << 20;

// What is fetched into the second cache while a tile is computed: `step` bytes for each input.
struct Ahead {
  const char* place;
  int64_t step;
};

// The products of `Rows` rows and a piece of a panel.
template <int Rows, bool kFetch, typename Weight>
inline __attribute__((always_inline)) void products(const float* x, int64_t x_stride, const Weight* panel,
                                                    int64_t depth, Ahead ahead, Vec (&low)[Rows], Vec (&high)[Rows]) {
#pragma GCC unroll 6
  for (int row = 0; row < Rows; ++row) low[row] = high[row] = Vec{};
  for (int64_t input = 0; input < depth; ++input) {
    _mm_prefetch(panel + (input + kAhead) * kPanel, _MM_HINT_T0);
    if (kFetch) _mm_prefetch(ahead.place + input * ahead.step, _MM_HINT_T1);
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
template <int Rows, bool kFetch, typename Weight>
inline void tile(const float* x, int64_t x_stride, const Weight* panel, int64_t depth, Ahead ahead, float* out,
                 int64_t out_stride, int64_t columns, bool add) {
  Vec low[Rows], high[Rows];
#pragma GCC unroll 6
  for (int row = 0; row < Rows; ++row) _mm_prefetch(out + row * out_stride, _MM_HINT_T0);
  products<Rows, kFetch>(x, x_stride, panel, depth, ahead, low, high);
#pragma GCC unroll 6
  for (int row = 0; row < Rows; ++row) put(out + row * out_stride, low[row], high[row], columns, add);
}

// A weight, (outputs, inputs), in panels.
template <typename Weight>
struct Panels {
  const Weight* weights;

  // out (rows, outputs) = or += x (rows, inputs) times the weight.
  void multiply(const float* x, int64_t x_stride, int64_t rows, int64_t inputs, int64_t outputs, float* out,
                int64_t out_stride, bool add) const {
    const int64_t tiles = (rows + kRows - 1) / kRows;
    // With one tile the loads themselves are as fast as the memory.
    const bool is_far = tiles > 1 && inputs * outputs * int64_t(sizeof(Weight)) >= kFar;
    const int64_t share = is_far ? int64_t(kPanel * sizeof(Weight)) / tiles : 0;
    const auto each = is_far ? &Panels::each_panel<true> : &Panels::each_panel<false>;
    (this->*each)(x, x_stride, rows, inputs, outputs, out, out_stride, add, share);
  }

 private:
  template <bool kFetch>
  void each_panel(const float* x, int64_t x_stride, int64_t rows, int64_t inputs, int64_t outputs, float* out,
                  int64_t out_stride, bool add, int64_t step) const {
    const Weight* panel = weights;
    for (int64_t first = 0; first < outputs; first += kPanel, panel += inputs * kPanel) {
      const int64_t columns = outputs - first < kPanel ? outputs - first : kPanel;
      for (int64_t input = 0; input < inputs; input += kDepth) {
        const int64_t depth = inputs - input < kDepth ? inputs - input : kDepth;
        // The piece that comes next, which lies behind this one: each tile fetches its share.
        Ahead ahead{reinterpret_cast<const char*>(panel + (input + depth) * kPanel), step};
        in_tiles<kRows>(rows, [&](int64_t row, auto count) {
          tile<count(), kFetch>(x + row * x_stride + input, x_stride, panel + input * kPanel, depth, ahead,
                                out + row * out_stride + first, out_stride, columns, add || input > 0);
          ahead.place += depth * step;
        });
      }
    }
  }
};

}  // namespace

#endif
