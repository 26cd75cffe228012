// Table 6: parts of speech by one linear classifier on each layer of a biLM. The paper, on the test part of the
// Wall Street Journal: 97.3 and 96.8.
local data = std.extVar("DATA") + "/pos/ud_ewt";
local trainers = import "../lib/trainers.libsonnet";
{
  dataset_reader: {
    type: "renamed_fields",
    reader: {
      type: "sharded",
      base_reader: {
        type: "universal_dependencies",
        use_language_specific_pos: true,  // the tags of the Penn Treebank, as in the paper
        token_indexers: { elmo: { type: "elmo", weights: std.extVar("BILM") } },
      },
    },
    names: { words: "tokens", pos_tags: "tags" },
  },
  train_data_path: data + "/*-train*.conllu",
  validation_data_path: data + "/*-dev*.conllu",
  test_data_path: data + "/*-test*.conllu",
  evaluate_on_test: true,
  model: {
    type: "elmo_layer_probe",
    elmo: { type: "elmo", weights: std.extVar("BILM"), state: "reset", dropout: 0 },
    label_namespace: "pos",
  },
  trainer: trainers.adam(lr=0.005, epochs=5, patience=2, grad_norm=false) + { validation_metric: "+accuracy" },
} + trainers.buckets(32, ["tokens"], evaluation=4) + trainers.seeds(1)
