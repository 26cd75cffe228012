// Peters et al. (2018), table 1, SNLI, baseline: test accuracy 88.0.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")()
