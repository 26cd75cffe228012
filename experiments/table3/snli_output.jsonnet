// Peters et al. (2018), table 3, SNLI, ELMo at the output: development accuracy 88.7.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")(where="output")
