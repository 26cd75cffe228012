// Peters et al. (2018), table 2, SQuAD, baseline: development F1 80.8.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")()
