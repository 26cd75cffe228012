// Table 7 of the supplement, SST: perplexity 131.5 before and 78.6 after in the paper. Tuned on the words of the
// training sentences; labels are ignored.
// Data: BILM, a biLM with its softmax; SST_DATA.
local data = import "../lib/data.libsonnet";
(import "bilm.libsonnet")(
  dataset_reader={ type: "elmo_corpus", task_reader: { type: "sst_phrases" } },
  train_data_path=data.sst.train,
  validation_data_path=data.sst.dev,
)
