// Peters et al. (2018), table 1, SQuAD, ELMo: test F1 85.8.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")(where="both")
