// Sentiment as in Peters et al. (2018): a biattentive classification network (McCann et al., 2017) with ReLU layers
// as its output, without ELMo or with ELMo beside the word vectors.
local data = import "../lib/data.libsonnet";
local trainers = import "../lib/trainers.libsonnet";
function(
  elmo=null,  // one of lib/elmo.libsonnet
  elmo_state="reset",
  elmo_dropout=0.0,  // embedding_dropout is already on the whole input
  word_dim=100,
  hidden=100,
  embedding_dropout=0.5,
  dropout=0.3,
  min_phrase_tokens=null,  // null: train on whole sentences alone
  batch_size=32,
  trainer=trainers.adam(lr=0.001, epochs=6, patience=3),
) trainers.seeds(1) {
  local width = word_dim + (if elmo == null then 0 else elmo.dim),
  dataset_reader: {
    type: "sst_phrases",
    token_indexers: {
      words: { type: "single_id", lowercase_tokens: true },
      [if elmo != null then "bilm"]: elmo.indexer,
    },
    [if min_phrase_tokens != null then "min_phrase_tokens"]: min_phrase_tokens,
  },
  validation_dataset_reader: self.dataset_reader { min_phrase_tokens: null },
  train_data_path: data.sst.train,
  validation_data_path: data.sst.dev,
  test_data_path: data.sst.test,
  evaluate_on_test: true,
  datasets_for_vocab_creation: ["train"],
  // All labels of the treebank, so that data with some of them (the demonstration's: 1 and 3) need no other model.
  vocabulary: { min_count: { tokens: 2 }, tokens_to_add: { labels: data.sst.labels } },
  model: {
    type: "bcn",
    text_field_embedder: {
      token_embedders: {
        words: { type: "embedding", embedding_dim: word_dim },
        // "bcn" keeps the name "elmo" for AllenNLP's own.
        [if elmo != null then "bilm"]: elmo.embedder { dropout: elmo_dropout, state: elmo_state },
      },
    },
    embedding_dropout: embedding_dropout,
    pre_encode_feedforward: {
      input_dim: width,
      num_layers: 1,
      hidden_dims: [hidden],
      activations: ["relu"],
      dropout: [dropout],
    },
    encoder: { type: "lstm", input_size: hidden, hidden_size: hidden, bidirectional: true },
    integrator: { type: "lstm", input_size: 6 * hidden, hidden_size: hidden, bidirectional: true },
    integrator_dropout: dropout,
    output_layer: {
      input_dim: 8 * hidden,
      num_layers: 3,
      hidden_dims: [4 * hidden, 2 * hidden, std.length(data.sst.labels)],
      activations: ["relu", "relu", "linear"],
      dropout: [dropout, dropout, 0.0],
    },
    // Word vectors start at random: AllenNLP's default would make them too small to learn from soon.
    initializer: { regexes: [["_text_field_embedder.token_embedder_words.weight", { type: "normal", std: 0.1 }]] },
  },
  data_loader: { batch_sampler: { type: "bucket", batch_size: batch_size, sorting_keys: ["tokens"] } },
  validation_data_loader: { batch_sampler: { type: "bucket", batch_size: 4 * batch_size, sorting_keys: ["tokens"] } },
  trainer: trainer { validation_metric: "+accuracy" },
}
