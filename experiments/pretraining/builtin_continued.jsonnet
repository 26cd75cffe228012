// The second stage of the built-in biLM: from the archive of builtin.jsonnet (BILM), the text in another order, a new
// schedule. Data: BILM, LM_DATA.
local bilm = std.extVar("BILM");
local first = import "builtin.jsonnet";
local trainers = import "../lib/trainers.libsonnet";
first {
  vocabulary: { type: "elmo_corpus", weights: bilm },
  model+: { weights: bilm, options:: null },
  data_loader+: { seed: 2 },
  trainer+: { num_epochs: 13, optimizer+: { lr: 0.0015 } },
} + trainers.seeds(2)
