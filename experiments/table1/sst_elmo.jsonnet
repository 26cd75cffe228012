// Table 1, SST-5, ELMo: 54.7 in the paper. As sst_baseline.jsonnet, with ELMo of the small built-in biLM at the input.
local elmo = import "../lib/elmo.libsonnet";
local trainers = import "../lib/trainers.libsonnet";
(import "../tasks/sst.libsonnet")(
  elmo=elmo.builtin, min_phrase_tokens=4, trainer=trainers.adam(lr=0.001, epochs=4, patience=2)
)
