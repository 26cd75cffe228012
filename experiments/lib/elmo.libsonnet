// The pretrained biLMs and how wide their vectors are.
local bilm(weights, dim) = {
  indexer: { type: "elmo", weights: weights },
  // Parameters of the token embedder are added by those who use it.
  embedder: { type: "elmo", weights: weights },
  dim: dim,
};
{
  // The small one of the package: 2 layers, 512 cells, projection 128.
  builtin: bilm("builtin", 256),
  // That of the variable BILM: a name, a weight file or the archive of a training.
  any(dim):: bilm(std.extVar("BILM"), dim),
}
