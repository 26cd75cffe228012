// Semantic roles as in Peters et al. (2018), supplement A.5: eight alternating LSTMs with highway connections and
// recurrent dropout (He et al., 2017), constrained Viterbi, scored by the official script srl-eval.pl (needs Perl). Not
// as there: sentences of more than 100 tokens are kept, sentences without a predicate train too (AllenNLP's reader),
// the biases of the last layer do not start at 0, a word without a vector has a random one, and ELMo's dropout is that
// of AllenNLP's configuration.
// The small scale has a fifth of PropBank's English Web Treebank for OntoNotes, a third of the width, half the layers,
// Adam for Adadelta, dropout on embedded words and an average of the weights, since there are so few sentences, vectors
// of its own for GloVe, and epochs of 60 batches on a part of the data (figure 1).
local data = import "../lib/data.libsonnet";
local elmo = import "../lib/elmo.libsonnet";
local trainers = import "../lib/trainers.libsonnet";
local vectors = import "../lib/words.libsonnet";
local sizes = {
  paper: {
    hidden: 300,
    layers: 8,
    predicate: 100,
    batch: 80,
    fraction: 1,
    part: null,
    embedding_dropout: {},
    trainer: trainers.adadelta(epochs=500, patience=200) { grad_clipping: 1.0 },
  },
  small: {
    hidden: 100,
    layers: 4,
    predicate: 20,
    batch: 32,
    fraction: 0.2,
    part: 60,
    embedding_dropout: { embedding_dropout: 0.3 },
    trainer: trainers.adam(lr=0.001, epochs=30, patience=5) + trainers.averaged(0.995) { grad_clipping: 1.0 },
  },
};
function(where=null, layers="all", lambda=0.001, scale=std.extVar("SCALE"), bilm=elmo.chosen, fraction=1)
  local size = sizes[scale];
  local words = vectors[scale].glove_100;
  local entry = elmo.enter(where, bilm, layers, lambda, { dropout: 0.1, state: elmo.state(scale) });
  {
    model: {
      type: "srl",
      text_field_embedder: {
        token_embedders: { words: vectors.embedder(words, trainable=true) } + entry.embedders,
      },
      binary_feature_dim: size.predicate,
      encoder: entry.around({
        type: "packed_alternating_lstm",
        input_size: words.dim + size.predicate + entry.input_dim,
        hidden_size: size.hidden,
        num_layers: size.layers,
        recurrent_dropout_probability: 0.1,
        use_input_projection_bias: false,
      }),
      initializer: { regexes: [["tag_projection_layer.*weight", { type: "orthogonal" }]] },
      regularizer: { regexes: entry.penalties },
    } + size.embedding_dropout,
    trainer: size.trainer { validation_metric: "+f1-measure-overall" },
  } + data.of_task(
    data.tasks[scale].srl,
    {
      type: "srl",
      token_indexers: {
        words: { type: "single_id", lowercase_tokens: true },
      } + entry.indexers,
    },
    fraction * size.fraction,
  ) + trainers.buckets(size.batch, ["tokens"]) + trainers.part(fraction, size.part) + trainers.seeds(1)
