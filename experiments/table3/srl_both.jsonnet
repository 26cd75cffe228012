// Peters et al. (2018), table 3, SRL, ELMo at input and output: development F1 84.3.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(where="both")
