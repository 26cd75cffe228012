// Demonstration: the same model as baseline.jsonnet, with ELMo beside the word vectors. Data: SST_DATA.
local elmo = import "../lib/elmo.libsonnet";
(import "../tasks/sst.libsonnet")(elmo=elmo.builtin)
