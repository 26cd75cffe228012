// Peters et al. (2018), table 3, SNLI, ELMo at the input: development accuracy 88.9.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")(where="input")
