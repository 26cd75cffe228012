// Fine-tuning on text of your own: a domain, or the text of a task written one tokenised sentence a line.
// Data: BILM, a biLM with its softmax; LM_DATA, the text.
local data = import "../lib/data.libsonnet";
(import "bilm.libsonnet")(
  dataset_reader={ type: "elmo_corpus" },
  train_data_path=data.lm.train,
  validation_data_path=data.lm.heldout,
)
