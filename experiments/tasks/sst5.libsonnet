// Sentiment at the sizes of Peters et al. (2018), supplement A.8, and on phrases of four tokens or more. Not as there:
// the dropout, the widths of the output layers, the batch, the patience, the epochs and the gradients' norm, 5 at most,
// are AllenNLP's and ours, since the paper's are not known; sentences of fewer than four tokens train too; words are
// looked up in lower case.
// The small scale has three tenths of the data to train on, a third of the width, smaller batches, Adam at 0.001, and
// an average of the weights. For GloVe it has vectors of its own. They are of far less text, and train too, by which
// the baseline gains. With ELMo it has more dropout, by which that model gains and the baseline does not.
local data = import "../lib/data.libsonnet";
local elmo = import "../lib/elmo.libsonnet";
local trainers = import "../lib/trainers.libsonnet";
local vectors = import "../lib/words.libsonnet";
local sst = import "sst.libsonnet";
local allennlp = { embedding: 0.25, encoder: 0.25, integrator: 0.1, output: [0.2, 0.3, 0.0] };
local sizes = {
  paper: {
    hidden: 300,
    batch: 100,
    fraction: 1,
    dropout: { baseline: allennlp, elmo: allennlp { embedding: 0.5 } },
    trainable_words: false,
    trainer: trainers.adam(lr=0.0001, epochs=40, patience=5),
  },
  small: {
    hidden: 100,
    batch: 32,
    fraction: 0.3,
    dropout: {
      baseline: allennlp,
      elmo: { embedding: 0.5, encoder: 0.3, integrator: 0.3, output: [0.3, 0.3, 0.0] },
    },
    trainable_words: true,
    trainer: trainers.adam(lr=0.001, epochs=25, patience=4) + trainers.averaged(0.998),
  },
};
function(where=null, layers="all", lambda=0.001, scale=std.extVar("SCALE"), bilm=elmo.chosen) sst(
  elmo=if where == null then null else bilm,
  elmo_state=elmo.state(scale),
  elmo_where=where,
  elmo_layers=layers,
  elmo_lambda=lambda,
  word_dim=vectors[scale].glove_300.dim,
  words=vectors.embedder(vectors[scale].glove_300, trainable=sizes[scale].trainable_words),
  hidden=sizes[scale].hidden,
  dropout=sizes[scale].dropout[if where == null then "baseline" else "elmo"],
  min_phrase_tokens=4,
  files=data.tasks[scale].sst,
  fraction=sizes[scale].fraction,
  batch_size=sizes[scale].batch,
  trainer=sizes[scale].trainer,
)
