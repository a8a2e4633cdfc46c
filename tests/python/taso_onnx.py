import taso, onnx
old_model = taso.load_onnx("model.onnx")
taso_graph = taso.optimize(old_model)            # also optimize(graph, alpha=1.0, budget=1000, print_subst=True)
new_model = taso.export_onnx(taso_graph)
onnx.save(new_model, "new.onnx")
