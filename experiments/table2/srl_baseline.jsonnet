// Peters et al. (2018), table 2, SRL, baseline: development F1 81.6.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")()
