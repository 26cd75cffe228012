// Peters et al. (2018), table 3, SRL, ELMo at the input: development F1 84.7.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(where="input")
