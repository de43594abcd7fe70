"""A simulated server of language models on loopback, in the dialects of OpenAI,
Anthropic, Gemini, Bedrock and Ollama.

`model_server()` runs it. A test sets what it answers and how it fails, hands
`server.environment` to the clients under test, and reads what the server saw. Nothing
here knows prompts or schemas of the package.
"""

from news_assets_tests.support.model_server.asked import Asked, Usage
from news_assets_tests.support.model_server.batches.jobs import BatchFault
from news_assets_tests.support.model_server.faults import Fault
from news_assets_tests.support.model_server.server import (
    ModelServer,
    Seen,
    model_server,
)

__all__ = [
    "Asked",
    "BatchFault",
    "Fault",
    "ModelServer",
    "Seen",
    "Usage",
    "model_server",
]
