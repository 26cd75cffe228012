// Peters et al. (2018), table 2, SNLI, all layers, lambda 1: development accuracy 89.3.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")(where="both", lambda=1)
