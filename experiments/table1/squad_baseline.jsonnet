// Peters et al. (2018), table 1, SQuAD, baseline: test F1 81.1.
// Differences: those of tasks/squad.libsonnet.
(import "../tasks/squad.libsonnet")()
