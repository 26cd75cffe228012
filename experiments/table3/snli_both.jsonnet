// Peters et al. (2018), table 3, SNLI, ELMo at input and output: development accuracy 89.5.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")(where="both")
