// Peters et al. (2018), figure 1, SRL, baseline, 10 % of the training data: no number is printed there.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(fraction=0.1)
