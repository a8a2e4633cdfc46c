# SPDX-License-Identifier: Apache-2.0
# Tables out of what the program `conformance` prints: per operator and in all, by tier
# (docs/conformance.md explains them). -v title=TEXT.
BEGIN {
  FS = "\t"
  t1 = "Conv Gemm MatMul Add Sub Mul Div Relu Sigmoid Tanh Clip LeakyRelu " \
       "BatchNormalization MaxPool AveragePool GlobalAveragePool Concat Split Slice " \
       "Reshape Transpose Flatten Squeeze Unsqueeze Softmax Identity Constant Cast Dropout"
  t2 = "Shape Gather ConstantOfShape Expand Tile Range Where Equal Less Greater Not And " \
       "Or LessOrEqual GreaterOrEqual Xor ReduceMean ReduceSum ReduceMax ReduceMin " \
       "ReduceProd Pow Sqrt Exp Log Neg Abs Reciprocal Erf Min Max Floor Ceil Round Mod " \
       "LayerNormalization Gelu Pad Resize Upsample ConvTranspose " \
       "InstanceNormalization GroupNormalization HardSigmoid HardSwish Elu PRelu Selu " \
       "Softplus Mish LogSoftmax ArgMax Size Sum Mean"
  t3 = "QuantizeLinear DequantizeLinear QLinearConv QLinearMatMul MatMulInteger " \
       "ConvInteger DynamicQuantizeLinear GatherND GatherElements ScatterND " \
       "ScatterElements TopK CumSum OneHot NonZero NonMaxSuppression Trilu Einsum " \
       "DepthToSpace SpaceToDepth LRN LpNormalization Sin Cos IsNaN IsInf BitShift " \
       "Compress Unique RMSNormalization RotaryEmbedding Attention"
  n = split(t1, a, " "); for (i = 1; i <= n; i++) tier[a[i]] = 1
  n = split(t2, a, " "); for (i = 1; i <= n; i++) tier[a[i]] = 2
  n = split(t3, a, " "); for (i = 1; i <= n; i++) tier[a[i]] = 3
}
NF >= 6 {
  op = $5
  if (!(op in tests)) { ops[++n_ops] = op; if (!(op in tier)) tier[op] = 4 }
  tests[op]++
  for (k = 1; k <= 4; k++) count[op, k, $k]++
}
# pass/open/unsupported/fail of column k
function cell(op, k,   pass) {
  pass = count[op, k, "pass"] + count[op, k, "equal"] + count[op, k, "same"]
  return sprintf("%d / %d / %d", pass, count[op, k, "open"] + count[op, k, "unsupported"],
                 count[op, k, "fail"])
}
function add(to, op,   k, v) {
  tests[to] += tests[op]
  for (k = 1; k <= 4; k++)
    for (v in verdicts)
      count[to, k, v] += count[op, k, v]
}
END {
  n = split("pass equal same open unsupported fail -", a, " ")
  for (i = 1; i <= n; i++) verdicts[a[i]]
  for (i = 2; i <= n_ops; i++) { # insertion sort: by tier, then name
    op = ops[i]
    for (j = i - 1; j > 0 && (tier[ops[j]] > tier[op] ||
         (tier[ops[j]] == tier[op] && ops[j] > op)); j--)
      ops[j + 1] = ops[j]
    ops[j + 1] = op
  }
  for (i = 1; i <= n_ops; i++) { add("tier " tier[ops[i]], ops[i]); add("all", ops[i]) }
  printf "## %s\n\n", title
  print "| operators | tests | round trip | types | execution | optimized |"
  print "|---|---|---|---|---|---|"
  n = split("tier 1,tier 2,tier 3,tier 4,all", a, ",")
  for (i = 1; i <= n; i++)
    printf "| %s | %d | %s | %s | %s | %s |\n", a[i], tests[a[i]], cell(a[i], 1),
           cell(a[i], 2), cell(a[i], 3), cell(a[i], 4)
  printf "\nRound trips with equal bytes: %d of %d.\n\n", count["all", 1, "equal"], tests["all"]
  print "| operator | tier | tests | round trip | types | execution | optimized |"
  print "|---|---|---|---|---|---|---|"
  for (i = 1; i <= n_ops; i++)
    printf "| %s | %d | %d | %s | %s | %s | %s |\n", ops[i], tier[ops[i]], tests[ops[i]],
           cell(ops[i], 1), cell(ops[i], 2), cell(ops[i], 3), cell(ops[i], 4)
  print ""
}
