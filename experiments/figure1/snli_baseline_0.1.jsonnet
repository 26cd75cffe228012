// Peters et al. (2018), figure 1, SNLI, baseline, 0.1 % of the training data: no number is printed there.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")(fraction=0.001)
