// Peters et al. (2018), table 2, SNLI, baseline: development accuracy 88.1.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")()
