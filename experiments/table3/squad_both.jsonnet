// Peters et al. (2018), table 3, SQuAD, ELMo at input and output: development F1 85.6.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")(where="both")
