// Peters et al. (2018), table 2, SNLI, last layer alone: development accuracy 89.1.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")(where="both", layers="last")
