// The pretrained biLMs, how wide their vectors are, and how they enter a task model.
local bilm(weights, dim) = {
  indexer: { type: "elmo", weights: weights },
  // Parameters of the token embedder are added by those who use it.
  embedder: { type: "elmo", weights: weights },
  dim: dim,
};
local widths = { builtin: 256, small: 256, medium: 512, original: 1024, "original_5.5B": 1024 };
{
  // The small one of the package: 2 layers, 512 cells, projection 128.
  builtin: bilm("builtin", widths.builtin),
  // That of the variable BILM: a name, a weight file or the archive of a training. The width is known where it is a
  // name, and stands in the variable BILM_DIM where it is not.
  chosen:: bilm(
    std.extVar("BILM"),
    local name = std.extVar("BILM");
    if std.objectHas(widths, name) then widths[name] else std.parseInt(std.extVar("BILM_DIM"))
  ),

  // As in the paper at its scale. The small one may have a layer cache, which needs vectors that depend on a sentence
  // alone.
  state(scale):: if scale == "paper" then "carried" else "reset",

  // How ELMo enters: `where` is null, "input", "output" or "both" of a task's encoder; `layers` as for the token
  // embedder; `lambda` the weight of the L2 penalty on the weights of the layers; `embedder` more of its parameters.
  // The key "bilm" is the first of a text field's in the alphabet, so that these columns stand in front of the others.
  enter(where, bilm, layers="all", lambda=null, embedder={}):: {
    local is_used = where != null,
    local at_input = where == "input" || where == "both",
    local at_output = where == "output" || where == "both",
    assert where == null || at_input || at_output : "where is %s, expected null, input, output or both" % where,
    indexers: if is_used then { bilm: bilm.indexer } else {},
    embedders: if is_used then {
      bilm: bilm.embedder + embedder + {
        [if at_input && at_output then "num_mixes"]: 2,
        [if layers != "all" then "layers"]: layers,
      },
    } else {},
    // Columns that the encoder reads, and that are behind its output.
    input_dim: if at_input then bilm.dim else 0,
    output_dim: if at_output then bilm.dim else 0,
    // Around the task's encoder, whose input_size is that without the columns that go around it.
    around(encoder, more={}):: if at_output then {
      type: "elmo_output",
      encoder: encoder,
      elmo_dim: bilm.dim,
      elmo_start: if at_input then bilm.dim else 0,
    } + more else encoder,
    // For "regularizer": {"regexes": [...]} of the model.
    penalties: if is_used && lambda != null && lambda > 0 then [
      ["_bilm.*mixes.*weights", { type: "l2", alpha: lambda }],
    ] else [],
  },
}
