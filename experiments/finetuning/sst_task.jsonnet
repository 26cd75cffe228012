// The demonstration's model with ELMo of any biLM as wide as the built-in one, frozen: of a tuned one, for example.
// Data: BILM, the biLM; SST_DATA.
local elmo = import "../lib/elmo.libsonnet";
(import "../tasks/sst.libsonnet")(elmo=elmo.any(256))
