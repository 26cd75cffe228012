// Sentiment as in Peters et al. (2018), supplement A.8: a biattentive classification network (McCann et al., 2017) with
// ReLU layers as its output, without ELMo or with ELMo where `elmo_where` says. sst5.libsonnet has the paper's sizes.
local data = import "../lib/data.libsonnet";
local elmos = import "../lib/elmo.libsonnet";
local trainers = import "../lib/trainers.libsonnet";
function(
  elmo=null,  // one of lib/elmo.libsonnet
  elmo_state="reset",
  elmo_where="input",
  elmo_layers="all",
  elmo_lambda=null,
  word_dim=100,
  words={ type: "embedding", embedding_dim: word_dim },  // random at the start
  hidden=100,
  dropout={ embedding: 0.5, encoder: 0.3, integrator: 0.3, output: [0.3, 0.3, 0.0] },
  min_phrase_tokens=null,  // null: train on whole sentences alone
  files=data.sst,
  fraction=1,  // of what there is to train on
  batch_size=32,
  trainer=trainers.adam(lr=0.001, epochs=10, patience=2) + trainers.averaged(0.998),
)
  local are_pretrained = std.objectHas(words, "pretrained_file");
  local where = if elmo == null then null else elmo_where;
  // Without dropout of its own: `dropout.embedding` is already on the whole input.
  local entry = elmos.enter(where, elmo, elmo_layers, elmo_lambda, { dropout: 0.0, state: elmo_state });
  {
    local at_output = entry.output_dim > 0,
    local lstm(inputs) = { type: "lstm", input_size: inputs, hidden_size: hidden, bidirectional: true },
    // Behind the encoder, where ELMo at the output comes through a biLSTM of its own.
    local encoded = (if at_output then 4 else 2) * hidden,
    local pre_encode = {
      input_dim: word_dim + entry.input_dim,
      num_layers: 1,
      hidden_dims: [hidden],
      activations: ["relu"],
      dropout: [dropout.encoder],
    },
    // The words of the other parts only where they have vectors.
    [if !are_pretrained then "datasets_for_vocab_creation"]: ["train"],
    // All labels of the treebank, so that data with some of them (the demonstration's: 1 and 3) need no other model.
    vocabulary: { min_count: { tokens: if are_pretrained then 1 else 2 }, tokens_to_add: { labels: data.sst.labels } },
    model: {
      type: if at_output then "elmo_bcn" else "bcn",
      text_field_embedder: { token_embedders: { words: words } + entry.embedders },
      embedding_dropout: dropout.embedding,
      // Where ELMo goes to the output, it goes around this layer too.
      pre_encode_feedforward: if at_output then entry.around({ type: "feedforward", feedforward: pre_encode })
                              else pre_encode,
      // The layer in front puts ELMo behind the other columns.
      encoder: entry.around(lstm(hidden), { elmo_start: hidden, elmo_encoder: lstm(elmo.dim) }),
      integrator: lstm(3 * encoded),
      integrator_dropout: dropout.integrator,
      output_layer: {
        input_dim: 8 * hidden,
        num_layers: 3,
        hidden_dims: [4 * hidden, 2 * hidden, std.length(data.sst.labels)],
        activations: ["relu", "relu", "linear"],
        dropout: dropout.output,
      },
      // Of random word vectors AllenNLP's default would make too small ones to learn from soon.
      [if !are_pretrained then "initializer"]: {
        regexes: [["_text_field_embedder.token_embedder_words.weight", { type: "normal", std: 0.1 }]],
      },
      [if std.length(entry.penalties) > 0 then "regularizer"]: { regexes: entry.penalties },
    },
    trainer: trainer { validation_metric: "+accuracy" },
  } + data.of_task(
    files,
    {
      type: "sst_phrases",
      token_indexers: {
        words: { type: "single_id", lowercase_tokens: true },
      } + entry.indexers,
      [if min_phrase_tokens != null then "min_phrase_tokens"]: min_phrase_tokens,
    },
    fraction,
  ) + { validation_dataset_reader+: { min_phrase_tokens: null } }
  + trainers.buckets(batch_size, ["tokens"], evaluation=4) + trainers.seeds(1)
