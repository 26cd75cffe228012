// Peters et al. (2018), table 3, SQuAD, ELMo at the output: development F1 84.8.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")(where="output")
