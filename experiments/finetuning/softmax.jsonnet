// A softmax for a biLM that comes without one, all else frozen: to be trained before the biLM is tuned.
// Data: BILM, the biLM; LM_DATA, ordinary text, better more than less.
local data = import "../lib/data.libsonnet";
(import "bilm.libsonnet")(
  dataset_reader={ type: "elmo_corpus" },
  train_data_path=data.lm.train,
  validation_data_path=data.lm.heldout,
  rows=128,
  dropout=0.0,
  lr=0.002,
  vocabulary={ corpus: data.lm.train, max_size: 50000 },  // counted where the biLM has no vocabulary either
  model={ new_softmax: true },
  trainer={ no_grad: ["^bilm\\."] },
)
