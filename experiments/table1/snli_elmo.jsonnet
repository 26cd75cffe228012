// Peters et al. (2018), table 1, SNLI, ELMo: test accuracy 88.7 ± 0.17.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")(where="both")
