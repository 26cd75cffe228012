// The task of table 7 of the supplement, SST with ELMo of any biLM, frozen: no number is printed there.
// The demonstration's model, which trains on whole sentences alone. Data: BILM, the biLM (and BILM_DIM, the width of
// its vectors, where that is no name); SST_DATA.
local elmo = import "../lib/elmo.libsonnet";
(import "../tasks/sst.libsonnet")(elmo=elmo.chosen)
