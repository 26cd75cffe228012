// Peters et al. (2018), table 1, SST-5, baseline: test accuracy 51.4.
// Differences: those of tasks/sst5.libsonnet.
(import "../tasks/sst5.libsonnet")()
