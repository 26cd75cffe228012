// The data sets: one variable each, the folder in which the files lie.
{
  // Trees of the Stanford Sentiment Treebank, or other text in its format: train.txt, dev.txt, test.txt.
  sst: {
    local folder = std.extVar("SST_DATA"),
    train: folder + "/train.txt",
    dev: folder + "/dev.txt",
    test: folder + "/test.txt",
    labels:: ["0", "1", "2", "3", "4"],
  },
}
