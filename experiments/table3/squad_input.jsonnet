// Peters et al. (2018), table 3, SQuAD, ELMo at the input: development F1 85.1.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")(where="input")
