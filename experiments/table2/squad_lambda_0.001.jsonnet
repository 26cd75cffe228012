// Peters et al. (2018), table 2, SQuAD, all layers, lambda 0.001: development F1 85.2.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")(where="both", lambda=0.001)
