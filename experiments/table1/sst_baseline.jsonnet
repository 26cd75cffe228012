// Table 1, SST-5, baseline: 51.4 in the paper. Trained on phrases of four tokens or more, as there. Differences: smaller,
// word vectors learned from the training data in place of GloVe.
local trainers = import "../lib/trainers.libsonnet";
(import "../tasks/sst.libsonnet")(min_phrase_tokens=4, trainer=trainers.adam(lr=0.001, epochs=4, patience=2))
