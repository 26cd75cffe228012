// A biLM of a few thousand weights, for tests and for a first look at the training.
local bilm = import "bilm.libsonnet";
bilm(
  options={
    lstm: { dim: 32, projection_dim: 16, n_layers: 2, cell_clip: 3, proj_clip: 3, use_skip_connections: true },
    char_cnn: {
      activation: "relu",
      embedding: { dim: 4 },
      filters: [[1, 8], [2, 8], [3, 16]],
      n_highway: 1,
      n_characters: 262,
      max_characters_per_token: 50,
    },
  },
  vocabulary_size=5000,
  epochs=2,
  rows=4,
  unroll_steps=5,
  negatives=16,
)
