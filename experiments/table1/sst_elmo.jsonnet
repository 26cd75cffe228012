// Peters et al. (2018), table 1, SST-5, ELMo: test accuracy 54.7 ± 0.5.
// Differences: those of tasks/sst5.libsonnet.
(import "../tasks/sst5.libsonnet")(where="both")
