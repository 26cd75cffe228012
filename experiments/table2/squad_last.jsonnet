// Peters et al. (2018), table 2, SQuAD, last layer alone: development F1 84.7.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")(where="both", layers="last")
