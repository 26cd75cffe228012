// A biLM over words, without a character CNN: as large as the small one of the package, bilm-tf's schedule, ten passes.
local bilm = import "bilm.libsonnet";
bilm(
  options={
    lstm: { dim: 512, projection_dim: 128, n_layers: 2, cell_clip: 3, proj_clip: 3, use_skip_connections: true },
  },
  vocabulary_size=50000,
  epochs=10,
)
