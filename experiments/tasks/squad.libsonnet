// Questions as in Peters et al. (2018), supplement A.4: BiDAF with self-attention (Clark and Gardner, 2017), GRUs of 90
// (100 without ELMo, and two epochs more), Adadelta, answers of at most 17 tokens, averaged weights. Not as there:
// words are spaCy's; dropout is on the output of the character CNN, which sees whole words, with marks behind them in
// place of zeros; a word without a vector has a random one, and cased ones are not looked for in lower case; scored
// once per epoch, and on the part that chooses the epoch, since the test part is not public; the last batch may be a
// smaller one; characters are counted in that part too, twice, as in all that is read; they start as AllenNLP's, GRUs
// from a normal distribution that is not cut off; the answer to train on is the first of equally frequent ones; the
// biLM is as BILM names it (the paper's is tuned).
// The small scale trains on the new Wikipedia test set of SQuADShifts, on the first 100 tokens of each paragraph
// (questions that are answered behind are left out), and on the sentences of QAMR, with Adam for Adadelta, a shorter
// average, two thirds of the width, vectors of its own for GloVe; it is scored on the English part of XQuAD.
local data = import "../lib/data.libsonnet";
local elmo = import "../lib/elmo.libsonnet";
local trainers = import "../lib/trainers.libsonnet";
local vectors = import "../lib/words.libsonnet";
local sizes = {
  paper: {
    hidden: { elmo: 90, baseline: 100 },
    filters: 100,
    characters: { elmo: 49, baseline: 50 },
    epochs: { elmo: 24, baseline: 26 },
    // Equal numbers make the decay constant from the first step on.
    trainer(epochs): trainers.adadelta(epochs, eps=1e-8)
                     + trainers.averaged(0.999, { numerator: 1.0, denominator: 1.0 }),
    training: {},
  },
  small: {
    hidden: { elmo: 60, baseline: 60 },
    filters: 50,
    characters: { elmo: 5, baseline: 5 },
    epochs: { elmo: 20, baseline: 20 },
    // 530 steps an epoch: the weights of the first ones would weigh too much in the paper's average.
    trainer(epochs): trainers.adam(lr=0.002, epochs=epochs, patience=3) + trainers.averaged(0.99),
    training: { passage_length_limit: 100, skip_impossible_questions: true },
  },
};
function(where=null, layers="all", lambda=null, scale=std.extVar("SCALE"), bilm=elmo.chosen)
  local size = sizes[scale];
  local words = vectors[scale].glove_300;
  local of = if where == null then "baseline" else "elmo";
  local hidden = size.hidden[of];
  local entry = elmo.enter(where, bilm, layers, lambda, { dropout: 0.5, state: elmo.state(scale) });
  local gru(inputs) = { type: "gru", input_size: inputs, hidden_size: hidden, bidirectional: true };
  local dropped(encoder) = { type: "variational_dropout", input_dropout: 0.2, output_dropout: 0.2, encoder: encoder };
  {
    model: {
      type: "bidaf_self_attention",
      text_field_embedder: {
        token_embedders: {
          words: vectors.embedder(words, trainable=false),
          characters: vectors.characters(20, size.filters, [5], dropout=0.2),
        } + entry.embedders,
      },
      phrase_layer: entry.around(dropped(gru(words.dim + size.filters + entry.input_dim))),
      residual_layer: gru(2 * hidden),
      span_start_layer: gru(2 * hidden),
      span_end_layer: gru(4 * hidden),
      dropout: 0.2,
      max_span_length: 17,
      initializer: {
        regexes: [
          ["_layer.*_module.weight_.*", { type: "normal", std: 0.05 }],
          ["_layer.*_module.bias_.*", { type: "zero" }],
          ["_(merge|scorer).weight", { type: "xavier_uniform" }],
          ["_(merge|scorer).bias", { type: "zero" }],
        ],
      },
      regularizer: { regexes: entry.penalties },
    },
    trainer: size.trainer(size.epochs[of]) { validation_metric: "+f1" },
    vocabulary: { min_count: { token_characters: size.characters[of] } },
  } + data.of_task(
    data.tasks[scale].squad,
    {
      type: "squad",
      tokenizer: data.tokenizer,
      token_indexers: {
        words: { type: "single_id", [if scale == "small" then "lowercase_tokens"]: true },
        characters: vectors.character_indexer(5),
      } + entry.indexers,
    },
    training=size.training,
  ) + trainers.buckets(45, ["passage"]) + trainers.seeds(1)
