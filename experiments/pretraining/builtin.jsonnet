// The small biLM that this package ships: 2 layers of 512 cells, projection 128, 512 character filters.
local bilm = import "bilm.libsonnet";
bilm(
  options={
    lstm: { dim: 512, projection_dim: 128, n_layers: 2, cell_clip: 3, proj_clip: 3, use_skip_connections: true },
    char_cnn: {
      activation: "relu",
      embedding: { dim: 16 },
      filters: [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256]],
      n_highway: 1,
      n_characters: 262,
      max_characters_per_token: 50,
    },
  },
  vocabulary_size=50000,
  epochs=10,
  batches_per_epoch=500,
  // Less than one pass over the text: nothing to forget, and Adam gets much further in it than bilm-tf's Adagrad.
  dropout=0,
  negatives=4096,
  optimizer={ type: "adam", lr: 0.002 },
  learning_rate_scheduler={ type: "linear_with_warmup", warmup_steps: 200 },
  loss_scale=1,
  grad_norm=1.0,
  heldout_sentences=1000,
)
