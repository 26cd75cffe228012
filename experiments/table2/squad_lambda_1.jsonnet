// Peters et al. (2018), table 2, SQuAD, all layers, lambda 1: development F1 85.0.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")(where="both", lambda=1)
