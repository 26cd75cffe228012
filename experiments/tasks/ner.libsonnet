// Named entities as in Peters et al. (2018), supplement A.7: words and characters, two biLSTMs of which the second is
// narrower, variational dropout on the input of both, a CRF (after Lample et al., 2016, and Peters et al., 2017); words
// are looked up in lower case and with 0 for each digit. Not as there: a word without a vector has a random one; the
// dropout's rate, the patience, the batch and a CRF without scores for a sentence's first and last label are
// AllenNLP's, since the paper's are not known; the labels are BIOUL; words end with marks, so that a filter may reach
// beyond their characters.
// The small scale has wikigold for CoNLL-2003, half the width, an average of the weights, its own vectors, with digits,
// for Senna's.
local data = import "../lib/data.libsonnet";
local elmo = import "../lib/elmo.libsonnet";
local trainers = import "../lib/trainers.libsonnet";
local vectors = import "../lib/words.libsonnet";
local sizes = {
  paper: {
    hidden: [200, 100],
    batch: 64,
    indexer: "zero_digits",
    trainer: trainers.adam(lr=0.001, epochs=75, patience=25),
  },
  small: {
    hidden: [100, 50],
    batch: 16,
    indexer: "single_id",
    trainer: trainers.adam(lr=0.001, epochs=60, patience=8) + trainers.averaged(0.995),
  },
};
function(where=null, layers="all", lambda=0.1, scale=std.extVar("SCALE"), bilm=elmo.chosen)
  local size = sizes[scale];
  local words = vectors[scale].senna;
  local characters = { dim: 16, filters: 128, width: 3 };
  local entry = elmo.enter(where, bilm, layers, lambda, { dropout: 0.0, state: elmo.state(scale) });
  local lstm(inputs, hidden) = {
    type: "variational_dropout",
    input_dropout: 0.5,
    encoder: { type: "lstm", input_size: inputs, hidden_size: hidden, bidirectional: true },
  };
  local width = words.dim + characters.filters + entry.input_dim;
  {
    model: {
      type: "crf_tagger",
      label_encoding: "BIOUL",
      text_field_embedder: {
        token_embedders: {
          words: vectors.embedder(words, trainable=true),
          characters: vectors.characters(characters.dim, characters.filters, [characters.width]),
        } + entry.embedders,
      },
      encoder: entry.around({
        type: "compose",
        encoders: [lstm(width, size.hidden[0]), lstm(2 * size.hidden[0], size.hidden[1])],
      }),
      include_start_end_transitions: false,
      regularizer: { regexes: entry.penalties },
    },
    trainer: size.trainer { validation_metric: "+f1-measure-overall" },
  } + data.of_task(
    data.tasks[scale].ner,
    {
      type: "conll2003",
      convert_to_coding_scheme: "BIOUL",
      token_indexers: {
        words: { type: size.indexer, lowercase_tokens: true },
        characters: vectors.character_indexer(3),
      } + entry.indexers,
    },
  ) + trainers.buckets(size.batch, ["tokens"]) + trainers.seeds(1)
