// Coreference as in Peters et al. (2018), supplement A.6: Lee et al. (2017) with ELMo of single sentences at the input.
// Not as there: no Turian vectors, vectors are not normalised, and a word without one has a random one; LSTMs with a
// state of zeros and separate gates, whose input weights start by Xavier; dropout of the context layer, in place of its
// recurrence, is on its input and output; the learning rate falls by epochs (by the same share); 50 sentences are drawn
// when a document is read, in each epoch; words end with marks, so that a filter may reach beyond their characters;
// scored by AllenNLP's CoNLL scores; feature dropout is on speakers and genres alone; the weighted sum of a span's
// words has ELMo in it too, as it has all that a word is embedded by.
// The small scale has OntoGUM for OntoNotes, LSTMs of half the width, narrower scorers, and fewer character filters,
// sentences and antecedents. It has an average of the weights, and stops by patience, of 10 epochs: with 5 the noise
// of 18 documents ended one training far before the others. For GloVe it has vectors of its own. They are of far less
// text, and train too, by which the baseline gains.
local data = import "../lib/data.libsonnet";
local elmo = import "../lib/elmo.libsonnet";
local trainers = import "../lib/trainers.libsonnet";
local vectors = import "../lib/words.libsonnet";
local sizes = {
  // 400,000 steps of a document
  paper: {
    hidden: 200,
    scorer: 150,
    filters: 50,
    antecedents: 250,
    sentences: 50,
    documents: 2802,
    trainer: trainers.adam(lr=0.001, epochs=143),
    trainable_words: false,
    genre: {},
  },
  small: {
    hidden: 100,
    scorer: 100,
    filters: 20,
    antecedents: 50,
    sentences: 10,
    documents: 117,
    trainer: trainers.adam(lr=0.001, epochs=60, patience=10) + trainers.averaged(0.995),
    trainable_words: true,
    genre: { genre_pattern: "^GUM_([a-z]+)_" },
  },
};
function(where=null, layers="all", lambda=null, scale=std.extVar("SCALE"), bilm=elmo.chosen)
  local size = sizes[scale];
  local words = vectors[scale].glove_300;
  local feature = 20;
  local widths = [3, 4, 5];
  // Without dropout of its own: the lexical dropout is on the whole input, and is the paper's half.
  local entry = elmo.enter(where, bilm, layers, lambda, { dropout: 0.0, state: elmo.state(scale) });
  local others = words.dim + size.filters * std.length(widths);
  local text = others + entry.input_dim + entry.output_dim;
  local context = 2 * size.hidden + entry.output_dim;
  local span = 2 * context + feature + text;
  local scorer(inputs) = {
    input_dim: inputs,
    num_layers: 2,
    hidden_dims: size.scorer,
    activations: "relu",
    dropout: 0.2,
  };
  {
    model: {
      type: "sentence_coref",
      text_field_embedder: {
        token_embedders: {
          words: vectors.embedder(words, trainable=size.trainable_words),
          characters: vectors.characters(8, size.filters, widths),
        } + entry.embedders,
      },
      context_layer: entry.around({
        type: "variational_dropout",
        input_dropout: 0.2,
        output_dropout: 0.2,
        encoder: {
          type: "lstm",
          input_size: others + entry.input_dim,
          hidden_size: size.hidden,
          bidirectional: true,
        },
      }),
      mention_feedforward: scorer(span),
      antecedent_feedforward: scorer(3 * span + 3 * feature),
      feature_size: feature,
      feature_dropout: 0.2,
      max_span_width: 10,
      spans_per_word: 0.4,
      max_antecedents: size.antecedents,
      lexical_dropout: 0.5,
      initializer: {
        regexes: [
          [".*linear_layers.*weight", { type: "xavier_normal" }],
          [".*_scorer.*weight", { type: "xavier_normal" }],
          ["_(distance|speaker|genre)_embedding.weight", { type: "xavier_normal" }],
          ["_span_width_embedding.weight", { type: "xavier_normal" }],
          ["_context_layer.*weight_ih.*", { type: "xavier_normal" }],
          ["_context_layer.*weight_hh.*", { type: "block_orthogonal", split_sizes: [size.hidden, size.hidden] }],
        ],
      },
      regularizer: { regexes: entry.penalties },
    },
    // Memory grows with a document: one at a time. They are read anew, and cut elsewhere, in each epoch.
    data_loader: { batch_size: 1, shuffle: true, max_instances_in_memory: size.documents },
    validation_data_loader: { batch_size: 1 },
    trainer: size.trainer {
      validation_metric: "+coref_f1",
      // 0.999 every 100 documents
      learning_rate_scheduler: { type: "exponential", gamma: std.pow(0.999, size.documents / 100) },
    },
  } + data.of_task(
    data.tasks[scale].coref,
    {
      type: "coref_sentences",
      max_span_width: 10,
      token_indexers: {
        words: { type: "single_id", [if scale == "small" then "lowercase_tokens"]: true },
        characters: vectors.character_indexer(5),
      } + entry.indexers,
    } + size.genre,
    training={ max_sentences: size.sentences },
  ) + trainers.seeds(1)
