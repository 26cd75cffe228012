// Peters et al. (2018), table 1, SRL, baseline: test F1 81.4.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")()
