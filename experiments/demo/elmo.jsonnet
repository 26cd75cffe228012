// Demonstration: the same model as baseline.jsonnet, with ELMo beside the word vectors and, through a biLSTM of its
// own, at the output of the first biLSTM, as in the paper. Data: SST_DATA.
local elmo = import "../lib/elmo.libsonnet";
(import "../tasks/sst.libsonnet")(elmo=elmo.builtin, elmo_where="both")
